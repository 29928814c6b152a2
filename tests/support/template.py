"""The shipped template as CloudFormation would resolve it, without deploying anything."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "template.yaml"

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


class Stack:
    """The template's resources and outputs for these parameters, the defaults for all others.

    `resources` holds those whose condition is true, their intrinsic functions replaced. A reference to a resource
    becomes its logical id, an attribute of it ``Id.Attribute``.
    """

    def __init__(self, **parameters: str) -> None:
        template: dict[str, Any] = yaml.load(FILE.read_text(), _Loader)
        known = template["Parameters"]
        if unknown := set(parameters) - set(known):
            raise KeyError(f"the template has no parameter {unknown}")
        defaults = {name: rules["Default"] for name, rules in known.items() if "Default" in rules}
        self._values: dict[str, Any] = {**PSEUDO_PARAMETERS, **defaults, **parameters}
        self._lists = {name for name, rules in known.items() if rules["Type"] == "CommaDelimitedList"}
        self._mappings: dict[str, Any] = template.get("Mappings", {})
        self._conditions: dict[str, Any] = template["Conditions"]
        self._logical_ids = set(template["Resources"])
        self.resources: dict[str, dict[str, Any]] = self._present(template["Resources"])
        self.outputs: dict[str, dict[str, Any]] = self._present(template["Outputs"])

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the properties of every resource of this type, by logical id."""
        return {name: found["Properties"] for name, found in self.resources.items() if found["Type"] == kind}

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
            case "FindInMap":
                table, first, second = map(self._resolve, argument)
                return self._mappings[table][str(first)][second]
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
