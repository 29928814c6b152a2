"""The shipped template as CloudFormation would resolve it, without deploying anything."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / "template.yaml"
MEMBER = ROOT / "fleet" / "member.yaml"

PSEUDO_PARAMETERS = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-central-1",
    "AWS::StackName": "eks-upsert",
}

_DROPPED = object()


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms, !Ref X, as one-key mappings."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {f"!{suffix}": loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {f"!{suffix}": loader.construct_sequence(node, deep=True)}
    raise TypeError(f"!{suffix} holds a {type(node).__name__}")


_Loader.add_multi_constructor("!", _short_form)


def load(file: Path = FILE) -> dict[str, Any]:
    """Return a template as it is written, a short form !Ref X as the mapping {"!Ref": "X"}."""
    template: dict[str, Any] = yaml.load(file.read_text(), _Loader)
    return template


class Stack:
    """A template's resources and outputs for these parameters, the defaults for all others.

    `resources` holds those whose condition is true, their intrinsic functions replaced and SAM's Globals merged into
    each function. A reference to a resource becomes its logical id, an attribute of it ``Id.Attribute``.
    """

    def __init__(self, file: Path = FILE, /, **parameters: str) -> None:
        template = load(file)
        known = template["Parameters"]
        if unknown := set(parameters) - set(known):
            raise KeyError(f"the template has no parameter {unknown}")
        defaults = {name: rules["Default"] for name, rules in known.items() if "Default" in rules}
        self._values: dict[str, Any] = {**PSEUDO_PARAMETERS, **defaults, **parameters}
        self._lists = {name for name, rules in known.items() if rules["Type"] == "CommaDelimitedList"}
        self._conditions: dict[str, Any] = template.get("Conditions", {})
        self._logical_ids = set(template["Resources"])
        self.resources: dict[str, dict[str, Any]] = self._present(template["Resources"])
        shared = self._resolve(template.get("Globals", {}).get("Function", {}))
        for resource in self.resources.values():
            if resource["Type"] == "AWS::Serverless::Function":
                resource["Properties"] = _merged(shared, resource["Properties"])
        self.outputs: dict[str, dict[str, Any]] = self._present(template["Outputs"])

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the properties of every resource of this type, by logical id."""
        return {name: found["Properties"] for name, found in self.resources.items() if found["Type"] == kind}

    def statements(self, role: str) -> dict[str, dict[str, Any]]:
        """Return what a role may do: the statements of all its policies by their Sid, each Sid once."""
        properties = self.resources[role]["Properties"]
        attached = [self.resources[name]["Properties"] for name in properties.get("ManagedPolicyArns", ())]
        statements = [
            statement
            for policy in (*attached, *properties.get("Policies", ()))
            for statement in policy["PolicyDocument"]["Statement"]
        ]
        by_sid = {statement["Sid"]: statement for statement in statements}
        if len(by_sid) < len(statements):
            raise ValueError(f"a Sid of {role} is there twice")
        return by_sid

    def _present(self, section: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self._resolve(body)
            for name, body in section.items()
            if "Condition" not in body or self._holds(body["Condition"])
        }

    def _holds(self, condition: str) -> bool:
        return bool(self._resolve(self._conditions[condition]))

    def _resolve(self, node: Any) -> Any:
        if isinstance(node, list):
            return [value for item in node if (value := self._resolve(item)) is not _DROPPED]
        if not isinstance(node, dict):
            return node
        if len(node) == 1 and (key := next(iter(node))).startswith("!"):
            return self._call(key[1:], node[key])
        return {key: value for key, item in node.items() if (value := self._resolve(item)) is not _DROPPED}

    def _call(self, function: str, argument: Any) -> Any:  # noqa: C901, PLR0911 - one case per intrinsic function
        match function:
            case "Ref":
                return self._reference(argument)
            case "GetAtt":
                return argument
            case "Condition":
                return self._holds(argument)
            case "Sub":
                text, given = (argument, {}) if isinstance(argument, str) else argument
                own = {name: self._resolve(value) for name, value in given.items()}
                return re.sub(
                    r"\$\{([^!}][^}]*)\}",
                    lambda found: str(own[found[1]] if found[1] in own else self._reference(found[1])),
                    text,
                )
            case "If":
                condition, then, otherwise = argument
                return self._resolve(then if self._holds(condition) else otherwise)
            case "Equals":
                first, second = map(self._resolve, argument)
                return str(first) == str(second)
            case "Not":
                return not self._resolve(argument[0])
            case "And":
                return all(map(self._resolve, argument))
            case "Or":
                return any(map(self._resolve, argument))
            case "Join":
                separator, items = argument
                return separator.join(map(str, self._resolve(items)))
            case _:
                raise NotImplementedError(f"the template uses !{function}")

    def _reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _DROPPED
        if name in self._values:
            value = self._values[name]
            return value.split(",") if name in self._lists and isinstance(value, str) else value
        if name.partition(".")[0] not in self._logical_ids:
            raise KeyError(f"the template refers to {name}, which it does not have")
        return name


def _merged(shared: Any, own: Any) -> Any:
    """Return what SAM makes of a global property and a function's own: mappings are merged, the own value wins.

    https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-template-anatomy-globals.html
    """
    if isinstance(shared, dict) and isinstance(own, dict):
        return {
            **shared,
            **{key: _merged(shared[key], value) if key in shared else value for key, value in own.items()},
        }
    if isinstance(shared, list) and isinstance(own, list):
        return [*shared, *own]
    return own
