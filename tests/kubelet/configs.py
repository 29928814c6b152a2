"""The docker configs of the table, by what they try; none of them holds a secret."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass

_QUAY = ("quay.io/team/app:1",)
_ACCOUNT = "111122223333"
_ECR = f"{_ACCOUNT}.dkr.ecr.eu-central-1.amazonaws.com"


@dataclass(frozen=True, slots=True)
class Case:
    """A docker config with a name that says what it tries, and the images that it is tried with."""

    name: str
    config: bytes
    images: tuple[str, ...] = _QUAY


def cases() -> list[Case]:
    """Return all cases; their names differ."""
    found = [*_documents(), *_members(), *_entries(), *_auths(), *_hosts(), *_overlaps(), *_images()]
    names = [case.name for case in found]
    if len(set(names)) != len(names):
        raise AssertionError(sorted({name for name in names if names.count(name) > 1}))
    return found


def b64(text: str | bytes) -> str:
    """Return standard base64 with padding."""
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def _entry(auth: str, **more: object) -> bytes:
    return json.dumps({"auths": {"quay.io": {"auth": auth, **more}}}, ensure_ascii=False).encode()


def _with_hosts(*hosts: str) -> bytes:
    return json.dumps({"auths": {host: {"auth": b64(f"u{at}:p{at}")} for at, host in enumerate(hosts)}}).encode()


def _documents() -> Iterator[Case]:
    """Yield what is JSON and what is not."""
    good = '{"auths":{"quay.io":{"auth":"dTpw"}}}'
    for name, text in {
        "nothing": "",
        "a blank": " ",
        "an empty object": "{}",
        "null": "null",
        "a list": "[]",
        "a string": '"auths"',
        "a number": "1",
        "true": "true",
        "capital True": "True",
        "good": good,
        "JSON blanks around it": f" \t\r\n{good} \t\r\n",
        "a form feed before it": f"\f{good}",
        "a no-break space before it": f"\u00a0{good}",
        "a byte order mark": f"\ufeff{good}",
        "a NUL behind it": f"{good}\0",
        "a letter behind it": f"{good}x",
        "a second object": f"{good}{good}",
        "a second object on a second line": f"{good}\n{good}",
        "a comma behind it": f"{good},",
        "a comment": f"{good}// kept by hand",
        "a comma behind the last member": '{"auths":{"quay.io":{"auth":"dTpw"},}}',
        "single quotes": good.replace('"', "'"),
        "names without quotes": '{auths:{"quay.io":{"auth":"dTpw"}}}',
        "cut off": good[:-1],
        "cut off within a string": good[:30],
        "one brace too many": f"{good}}}",
        "YAML": "auths:\n  quay.io:\n    auth: dTpw\n",
        "base64 of the whole": b64(good),
        "a string of JSON": json.dumps(good),
        "a line feed within a string": good.replace("dTpw", "dT\npw"),
        "a tab within a string": good.replace("dTpw", "dT\tpw"),
        "a NUL within a string": good.replace("dTpw", "dT\0pw"),
        "a DEL within a string": good.replace("dTpw", "dT\x7fpw"),
        "an escaped solidus": good.replace("dTpw", r"Pz8\/Og"),
        "an escape that is none": good.replace("dTpw", r"dT\xpw"),
        "an escaped apostrophe": good.replace("dTpw", r"dT\'pw"),
        "all of it escaped": r'{"\u0061uths":{"quay\u002eio":{"aut\u0068":"\u0064Tpw"}}}',
        "upper case digits of an escape": good.replace("dTpw", r"dTp\u0077").replace("quay.io", r"quay\u002Eio"),
        "an upper case U of an escape": good.replace("dTpw", r"\U0064Tpw"),
        "a short escape": good.replace("dTpw", r"\u64Tpw"),
        "an escape with a sign": good.replace("dTpw", r"\u+064Tpw"),
        "a lone high surrogate": '{"auths":{"quay.io":{"username":"\\ud83d","password":"p"}}}',
        "a lone low surrogate": '{"auths":{"quay.io":{"username":"\\ude00","password":"p"}}}',
        "a pair of surrogates": '{"auths":{"quay.io":{"username":"\\ud83d\\ude00","password":"p"}}}',
        "surrogates the wrong way": '{"auths":{"quay.io":{"username":"\\ude00\\ud83d","password":"p"}}}',
        "two high surrogates and a low": '{"auths":{"quay.io":{"username":"\\ud83d\\ud83d\\ude00","password":"p"}}}',
        "a surrogate before a letter": '{"auths":{"quay.io":{"username":"\\ud83d\\u0041","password":"p"}}}',
        "unknown NaN": '{"x":NaN,"auths":{}}',
        "unknown Infinity": '{"x":-Infinity,"auths":{}}',
        "unknown number with a leading zero": '{"x":01}',
        "unknown number with a sign": '{"x":+1}',
        "unknown number with a final point": '{"x":1.}',
        "unknown number with a leading point": '{"x":.5}',
        "unknown hexadecimal number": '{"x":0x10}',
        "unknown number with an empty exponent": '{"x":1e}',
        "unknown number with an exponent": '{"x":-1.5E+10}',
        "unknown minus zero": '{"x":-0}',
        "unknown huge exponent": '{"x":1e999999}',
        "unknown number of 5,000 digits": '{"x":' + "1" * 5000 + "}",
        "unknown minus alone": '{"x":-}',
        "unknown literal in capitals": '{"x":NULL}',
        "unknown literal cut off": '{"x":nul}',
        "nested 100 deep": '{"x":' + "[" * 100 + "]" * 100 + "}",
        "nested 9,000 deep": '{"x":' + "[" * 8999 + "]" * 8999 + "}",
        "nested 10,001 deep": '{"x":' + "[" * 10000 + "]" * 10000 + "}",
        "brackets that do not pair": '{"x":[}]}',
        "no colon": '{"auths"{"quay.io":{}}}',
        "a number for a name": '{1:{"quay.io":{}}}',
    }.items():
        yield Case(f"document: {name}", text.encode())
    for name, raw in {
        "UTF-16": good.encode("utf-16"),
        "UTF-16 without a mark": good.encode("utf-16-le"),
        "Latin-1 in a username": '{"auths":{"quay.io":{"username":"jürgen","password":"p"}}}'.encode("latin-1"),
        "a cut-off character in a password": b'{"auths":{"quay.io":{"username":"u","password":"\xe2\x82"}}}',
        "an overlong slash": b'{"auths":{"quay.io":{"username":"u","password":"\xc0\xaf"}}}',
        "a surrogate in UTF-8": b'{"auths":{"quay.io":{"username":"u","password":"\xed\xa0\xbd\xed\xb8\x80"}}}',
        "beyond Unicode": b'{"auths":{"quay.io":{"username":"u","password":"\xf4\x90\x80\x80"}}}',
        "a stray byte in an unknown name": b'{"\xff":1,"auths":{"quay.io":{"auth":"dTpw"}}}',
        "a stray byte in a host": b'{"auths":{"quay\xff.io":{"auth":"dTpw"},"quay.io":{"auth":"dTpw"}}}',
        "two hosts that differ in a stray byte": b'{"auths":{"*\xff":{"auth":"dTpw"},"*\xfe":{"auth":"eDp5"}}}',
        "a stray byte in auth": b'{"auths":{"quay.io":{"auth":"dTpw\xff"}}}',
        "a stray byte outside of strings": b'{"auths":{}}\xff',
        "a stray byte behind a high surrogate": b'{"auths":{"quay.io":{"username":"\\ud83d\xb8","password":"p"}}}',
    }.items():
        yield Case(f"bytes: {name}", raw)


def _members() -> Iterator[Case]:
    """Yield what stands beside auths, and in its place."""
    auths = '"auths":{"quay.io":{"auth":"dTpw"}}'
    for name, text in {
        "auths null": '{"auths":null}',
        "auths empty": '{"auths":{}}',
        "auths a list": '{"auths":[]}',
        "auths a list of entries": '{"auths":[{"quay.io":{"auth":"dTpw"}}]}',
        "auths a string": '{"auths":""}',
        "auths a number": '{"auths":0}',
        "auths false": '{"auths":false}',
        "Auths": '{"Auths":{"quay.io":{"auth":"dTpw"}}}',
        "AUTHS": '{"AUTHS":{"quay.io":{"auth":"dTpw"}}}',
        "auths with a long s": '{"auth\u017f":{"quay.io":{"auth":"dTpw"}}}',
        "auths with a blank": '{"auths ":{"quay.io":{"auth":"dTpw"}}}',
        "auth in place of auths": '{"auth":{"quay.io":{"auth":"dTpw"}}}',
        "auths with an escaped letter": '{"\\u0041UTHS":{"quay.io":{"auth":"dTpw"}}}',
        "AUTHS a list beside auths": f'{{{auths},"AUTHS":[]}}',
        "auths twice, other hosts": f'{{{auths},"auths":{{"ghcr.io":{{"auth":"eDp5"}}}}}}',
        "auths twice, the same host": f'{{{auths},"auths":{{"quay.io":{{"auth":"eDp5"}}}}}}',
        "auths twice, the same host without auth": f'{{{auths},"auths":{{"quay.io":{{"password":"y"}}}}}}',
        "auths and Auths": f'{{{auths},"Auths":{{"ghcr.io":{{"auth":"eDp5"}}}}}}',
        "auths, then null": f'{{{auths},"auths":null}}',
        "auths, then null, then another": f'{{{auths},"auths":null,"auths":{{"ghcr.io":{{"auth":"eDp5"}}}}}}',
        "null, then auths": f'{{"auths":null,{auths}}}',
        "auths, then a list": f'{{{auths},"auths":[]}}',
        "bad auths, then good": f'{{"auths":{{"quay.io":{{"auth":"x"}}}},{auths}}}',
        "credsStore": f'{{{auths},"credsStore":"ecr-login"}}',
        "credHelpers": f'{{{auths},"credHelpers":{{"{_ECR}":"ecr-login"}}}}',
        "credHelpers alone": f'{{"credHelpers":{{"{_ECR}":"ecr-login"}}}}',
        "credHelpers a number": f'{{{auths},"credHelpers":7}}',
        "unknown null": f'{{{auths},"x":null}}',
        "unknown list": f'{{{auths},"x":[1,"a",null,{{}}]}}',
        "unknown object": f'{{{auths},"x":{{"auth":5}}}}',
        "an empty name": f'{{{auths},"":1}}',
        "HttpHeaders": f'{{{auths},"HttpHeaders":{{"User-Agent":"Docker"}}}}',
        "HttpHeaders null": f'{{{auths},"HttpHeaders":null}}',
        "HttpHeaders empty": f'{{{auths},"HttpHeaders":{{}}}}',
        "HttpHeaders with a null": f'{{{auths},"HttpHeaders":{{"a":null}}}}',
        "HttpHeaders with a number": f'{{{auths},"HttpHeaders":{{"a":1}}}}',
        "HttpHeaders with a list": f'{{{auths},"HttpHeaders":{{"a":["b"]}}}}',
        "HttpHeaders a list": f'{{{auths},"HttpHeaders":[]}}',
        "HttpHeaders a string": f'{{{auths},"HttpHeaders":"a: b"}}',
        "httpheaders with a number": f'{{{auths},"httpheaders":{{"a":1}}}}',
        "HTTPHEADERS false": f'{{{auths},"HTTPHEADERS":false}}',
        "HttpHeader\u017f a list": f'{{{auths},"HttpHeader\u017f":[]}}',
        "Http-Headers a list": f'{{{auths},"Http-Headers":[]}}',
        "bad HttpHeaders, then good": f'{{{auths},"HttpHeaders":5,"HttpHeaders":{{}}}}',
        "the legacy format": '{"quay.io":{"auth":"dTpw","email":"a@b.example"}}',
        "the legacy format beside auths": f'{{{auths},"ghcr.io":{{"auth":"no base64"}}}}',
        "the legacy format with a host auths": '{"auths":{"auth":"dTpw"}}',
        "a Secret in place of its value": '{"apiVersion":"v1","kind":"Secret","data":{".dockerconfigjson":"e30="}}',
    }.items():
        yield Case(f"member: {name}", text.encode(), ("quay.io/team/app:1", "ghcr.io/team/app"))


def _entries() -> Iterator[Case]:
    """Yield what stands in an entry, but for the ways to write auth."""
    for name, entry in {
        "null": "null",
        "empty": "{}",
        "a string": '"dTpw"',
        "a list": "[]",
        "a number": "0",
        "true": "true",
        "username and password": '{"username":"u","password":"p"}',
        "username alone": '{"username":"u"}',
        "password alone": '{"password":"p"}',
        "all fields of kubectl": '{"username":"u","password":"p","email":"a@b.example","auth":"dTpw"}',
        "empty auth": '{"username":"u","password":"p","auth":""}',
        "null auth": '{"username":"u","password":"p","auth":null}',
        "auth that contradicts": '{"username":"other","password":"wrong","auth":"dTpw"}',
        "auth before what contradicts": '{"auth":"dTpw","username":"other","password":"wrong"}',
        "bad auth beside username and password": '{"username":"u","password":"p","auth":"u:p"}',
        "null username": '{"username":null,"password":"p"}',
        "null password": '{"username":"u","password":null}',
        "all null": '{"username":null,"password":null,"email":null,"auth":null}',
        "null email": '{"auth":"dTpw","email":null}',
        "number for username": '{"username":1,"password":"p"}',
        "number for password": '{"username":"u","password":1234}',
        "number for email": '{"auth":"dTpw","email":0}',
        "number for auth": '{"auth":1}',
        "list for auth": '{"auth":["dTpw"]}',
        "list for email": '{"auth":"dTpw","email":[]}',
        "object for password": '{"username":"u","password":{"secret":"x"}}',
        "false for auth": '{"auth":false}',
        "false for email": '{"auth":"dTpw","email":false}',
        "unknown number": '{"auth":"dTpw","serveraddress":5}',
        "unknown list": '{"auth":"dTpw","x":[1,2]}',
        "unknown object": '{"auth":"dTpw","x":{"auth":5}}',
        "identitytoken": '{"auth":"dTo=","identitytoken":"abc"}',
        "identitytoken alone": '{"identitytoken":"abc"}',
        "registrytoken alone": '{"registrytoken":"abc"}',
        "provider": '{"auth":"dTpw","provider":"x"}',
        "Provider an object": '{"auth":"dTpw","Provider":{}}',
        "Username and Password": '{"Username":"u","Password":"p"}',
        "USERNAME and PASSWORD": '{"USERNAME":"u","PASSWORD":"p"}',
        "AUTH": '{"AUTH":"dTpw"}',
        "AUTH bad": '{"AUTH":"x"}',
        "u\u017fername and pa\u017f\u017fword": '{"u\u017fername":"u","pa\u017f\u017fword":"p"}',
        "pa\u00dfword": '{"username":"u","pa\u00dfword":"p"}',
        "ema\u0130l a number": '{"auth":"dTpw","ema\u0130l":5}',
        "ema\u0131l a number": '{"auth":"dTpw","ema\u0131l":5}',
        "EMAIL a number": '{"auth":"dTpw","EMAIL":5}',
        "auth twice": '{"auth":"eDp5","auth":"dTpw"}',
        "auth twice, first bad": '{"auth":"x","auth":"dTpw"}',
        "auth twice, last bad": '{"auth":"dTpw","auth":"x"}',
        "auth twice, last null": '{"auth":"dTpw","auth":null}',
        "auth twice, last empty": '{"auth":"dTpw","auth":""}',
        "auth twice, first a number": '{"auth":1,"auth":"dTpw"}',
        "auth and AUTH": '{"auth":"eDp5","AUTH":"dTpw"}',
        "AUTH and auth": '{"AUTH":"eDp5","auth":"dTpw"}',
        "username twice": '{"username":"x","password":"p","username":"u"}',
        "username then Username null": '{"username":"u","password":"p","Username":null}',
        "user in place of username": '{"user":"u","pass":"p"}',
        "a control character escaped": '{"username":"u\\u0000","password":"\\n"}',
        "text beyond ASCII": '{"username":"j\u00fcrgen","password":"\u2028\U0001f600"}',
        "HTML as Go writes it": '{"username":"u","password":"\\u003c\\u0026\\u003e"}',
        "username with a colon": '{"username":"a:b","password":"p"}',
    }.items():
        yield Case(f"entry: {name}", f'{{"auths":{{"quay.io":{entry}}}}}'.encode())
    good = '"quay.io":{"auth":"dTpw"}'
    for name, entries in {
        "a bad one first": '"ghcr.io":{"auth":"x"},' + good,
        "a bad one last": good + ',"ghcr.io":{"auth":"x"}',
        "a bad one for an empty host": good + ',"":{"auth":"x"}',
        "a bad one for a host that is ignored": good + ',"a b":{"auth":"x"}',
        "a host twice": '"quay.io":{"auth":"eDp5"},' + good,
        "a host twice, then null": good + ',"quay.io":null',
        "a host twice, fields of the first": '"quay.io":{"username":"x","password":"y"},"quay.io":{"username":"u"}',
        "a host twice, first bad": '"quay.io":{"auth":"x"},' + good,
        "a host twice in escapes": '"quay\\u002eio":{"auth":"eDp5"},' + good,
        "31 of them": ",".join(f'"h{at}.example":{{"auth":"dTpw"}}' for at in range(30)) + "," + good,
    }.items():
        yield Case(f"entries: {name}", f'{{"auths":{{{entries}}}}}'.encode())


def _auths() -> Iterator[Case]:
    """Yield the ways to write auth."""
    # The longest ECR password that public reports show.
    long_login = b64("AWS:" + "".join(chr(ord("a") + at * 7 % 26) for at in range(2714)))
    url_safe = base64.urlsafe_b64encode(b"u:\xfb\xff\xfe??>").decode()
    for name, auth in {
        "padded once": b64("u:pw"),
        "padded once, without padding": b64("u:pw").rstrip("="),
        "padded twice": b64("us:pw"),
        "padded twice, without padding": b64("us:pw").rstrip("="),
        "padded twice, one missing": b64("us:pw")[:-1],
        "padded once, one too many": b64("u:pw") + "=",
        "not padded": b64("u:p"),
        "not padded, with one": b64("u:p") + "=",
        "not padded, with two": b64("u:p") + "==",
        "not padded, with four": b64("u:p") + "====",
        "padding alone": "=",
        "four of padding": "====",
        "padding first": "=dTpw",
        "padding within": "dTp3=dTpw",
        "padded twice over": b64("us:pw") + b64("us:pw"),
        "text behind the padding": b64("us:pw") + "A",
        "one letter": "d",
        "five letters": "dTpwd",
        "bits behind the end": "dTp3d1==",
        "bits behind the end, without padding": "dTp3d1",
        "url-safe alphabet": url_safe,
        "url-safe alphabet, without padding": url_safe.rstrip("="),
        "url-safe minus": "dTr-",
        "url-safe underscore": "dTo_",
        "standard plus": "dTr+",
        "standard slash": "dTo/",
        "blank before": " dTpw",
        "blank behind": "dTpw ",
        "blank within": "dT pw",
        "blank behind the padding": b64("us:pw") + " ",
        "tab behind": "dTpw\t",
        "line feed behind": "dTpw\n",
        "line feed behind the padding": b64("us:pw") + "\n",
        "line feed before": "\ndTpw",
        "line feed within": "dT\npw",
        "line feed within the padding": b64("us:pw")[:-1] + "\n=",
        "line feed before the padding": b64("us:pw")[:-2] + "\n==",
        "line feeds without padding": "\nd\nX\nM\n6\nc\nH\nc\n",
        "CRLF behind": "dTpw\r\n",
        "CR within": "dT\rpw",
        "line feeds alone": "\n\n",
        "form feed behind the padding": b64("us:pw") + "\f",
        "no-break space behind the padding": b64("us:pw") + "\u00a0",
        "line separator behind": "dTpw\u2028",
        "a blank alone": " ",
        "a blank and a line feed behind the padding": b64("us:pw") + " \n",
        "lines of 76": "\n".join([b64("u:" + "p" * 200)[at : at + 76] for at in range(0, 280, 76)]),
        "NUL behind": "dTpw\0",
        "plain u:p": "u:p",
        "plain user:password": "AWS:abcdef",
        "a bare GitLab token": "glpat-abcdEFGH1234",
        "a bare GitHub token": "ghp_abcdEFGH1234",
        "a bare token that is base64": "abcdEFGH1234",
        "base64 of a bare token": b64("glpat-abcdEFGH1234"),
        "base64 of base64": b64(b64("u:p")),
        "Basic before it": "Basic dTpw",
        "quotes around it": '"dTpw"',
        "a shell variable": "${AUTH}",
        "hexadecimal": b"u:p".hex(),
        "no colon": b64("user"),
        "a colon alone": b64(":"),
        "an empty username": b64(":p"),
        "an empty password": b64("u:"),
        "two colons": b64("u:p:q"),
        "a colon and a blank": b64("u: p"),
        "a line feed behind the password": b64("u:p\n"),
        "a CRLF behind the password": b64("u:p\r\n"),
        "a blank before the username": b64(" u:p"),
        "NUL in the password": b64("u:p\0q"),
        "UTF-8": b64("j\u00fcrgen:p\u00e4\u00df"),
        "Latin-1": b64("j\u00fcrgen:p\u00e4\u00df".encode("latin-1")),
        "bytes of no text": b64(b"\xff\xfe:\x80\x81"),
        "UTF-16": b64("u:p".encode("utf-16-le")),
        "a byte order mark before the username": b64("\ufeffu:p"),
        "a surrogate in UTF-8": b64(b"u:\xed\xa0\x80"),
        "full-width letters": "\uff44\uff34\uff50\uff57",
        "full-width equals sign": "dXM6cHc\uff1d",
        "letters beyond ASCII": "dTpw\u00fc",
        "a password of 2,714 characters": long_login,
        "a password of 2,714 characters, cut off": long_login[:-1],
        "a password of 2,714 characters in lines": "\r\n".join(
            long_login[at : at + 76] for at in range(0, len(long_login), 76)
        ),
        "a trailing percent": "dTpw%",
        "percent-encoded padding": "dTp3%3D",
        "a comma": "dTpw,dTpw",
        "a dot": "dTpw.dTpw",
        "a JSON Web Token": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1In0.",
        "a minus": "-",
        "null as text": "null",
    }.items():
        yield Case(f"auth: {name}", _entry(auth, username="other", password="wrong"))


def _hosts() -> Iterator[Case]:
    """Yield the ways to spell a host, each with images that it may or may not match."""
    registry = ("reg.example/team/app:1", "reg.example/other", "reg.example:443/team/app", "a.reg.example/team/app")
    for host in (
        *("reg.example", "https://reg.example", "http://reg.example", "HTTPS://reg.example", "Https://reg.example"),
        *("reg.example/", "https://reg.example/", "reg.example//", "https:///reg.example", "//reg.example", "/"),
        *("https://reg.example/v1/", "https://reg.example/v2/", "reg.example/v1", "reg.example/v2", "reg.example/v1/"),
        *(
            "reg.example/v2/team",
            "reg.example/v1/team/app",
            "reg.example/v3/",
            "reg.example/v2/v2/",
            "reg.example/v20/",
        ),
        *("reg.example/team", "reg.example/team/", "reg.example/te", "reg.example/team/app", "reg.example/team/app/x"),
        *("reg.example/team/app:1", "reg.example/Team", "reg.example/%74eam", "reg.example/t%65am/%61pp"),
        *("reg.example/%", "reg.example/%zz", "reg.example/team%2Fapp", "reg.example/team%3Fx", "reg.example/%00"),
        *(
            "reg.example/%2525",
            "reg.example/team%23",
            "reg.example/%3f/%zz",
            "reg.example/%3f/%25zz",
            "reg.example/%23%25zz",
            "reg.example/te%3f%0a",
            "reg.example/te%23%0a",
            "reg.example/team app",
            "reg.example/../team",
            "reg.example/*",
        ),
        *(
            "reg.example?x=1",
            "reg.example/team?x",
            "reg.example#x",
            "reg.example/team#%zz",
            "reg.example?\n",
            "reg.example/?\x7f",
            "reg.example#\n",
            "reg.example?%zz",
            "?",
            "#",
        ),
        *("reg.example:443", "reg.example:", "reg.example:443/team", "reg.example:0443", "reg.example:https"),
        *("reg.example:443:443", "reg.example:*", "reg.example:-1", ":443", "https://reg.example:443/v2/"),
        *("REG.EXAMPLE", "Reg.example", "reg.example.", ".reg.example", "reg..example", "reg", "example", ""),
        *("*.example", "*", "*.*", "*.*.*", "re*.example", "*g.example", "*e*.example", "reg.*", "**.example"),
        *("*.reg.example", "reg*", "*reg.example", "?eg.example", "[r]eg.example", "r[e]g.example", "{reg}.example"),
        *("https://*.example/team", "*.example:443", "*.example:*", "*.example/te*", "\\*.example", "r\\eg.example"),
        *("user@reg.example", "user:p@reg.example", "us er@reg.example", "a@b@reg.example", "reg.example@evil.example"),
        *("us%41er@reg.example", "us%4@reg.example", "\u00fc@reg.example", "@reg.example", "reg.example@"),
        *(" reg.example", "reg.example ", "reg .example", "reg.example\n", "\treg.example", "reg.exa\0mple", "\x7f"),
        *(
            "reg.ex%61mple",
            "reg.exampl%C3%A9",
            "reg.ex%25ample",
            "reg%2Eexample",
            "r\u00e9g.example",
            "reg\u3002example",
        ),
        *("xn--rg-bja.example", "reg_x.example", "reg.example,other.example", "reg.example;x", '"reg.example"'),
        *("<reg.example>", "reg.example]", "reg.example[", "reg!.example", "reg.example|x", "reg.example^", "`reg`"),
        *(
            "ftp://reg.example",
            "oci://reg.example",
            "docker://reg.example/team",
            "https:reg.example",
            "https:/reg.example",
        ),
        *("https://https://reg.example", "http://https://reg.example", "https://", "http:", "reg.example/https://x"),
    ):
        yield Case(f"host: {host!r}", _with_hosts(host), registry)

    hub = ("nginx", "team/app:1", "docker.io/library/nginx", "index.docker.io/team/app", "registry-1.docker.io/a/b")
    for host in (
        *("https://index.docker.io/v1/", "https://index.docker.io/v2/", "https://index.docker.io/v1"),
        *("https://index.docker.io/", "https://index.docker.io", "http://index.docker.io/v1/", "index.docker.io"),
        *("index.docker.io/v1/", "index.docker.io/v1/team", "index.docker.io/library", "index.docker.io:443"),
        *("INDEX.DOCKER.IO", "HTTPS://index.docker.io/v1/", "docker.io", "https://docker.io/v1/", "docker.io/library"),
        *(
            "docker.io/team/app",
            "hub.docker.com",
            "registry-1.docker.io",
            "registry.hub.docker.com",
            "*.docker.io",
            "*.io",
        ),
    ):
        images = (*hub, "localhost/app", "localhost:5000/app")
        yield Case(f"Docker Hub: {host!r}", _with_hosts(host), images)

    ecr = (f"{_ECR}/team/app:1", f"{_ECR.replace('.ecr.', '.ecr-fips.')}/app", "public.ecr.aws/alias/app")
    for host in (
        *(
            _ECR,
            f"https://{_ECR}",
            f"https://{_ECR}/v1/",
            f"{_ECR}/v2/",
            f"{_ECR}/team-a",
            f"{_ECR}/team",
            f"{_ECR}:443",
        ),
        *(_ECR.upper(), f"HTTPS://{_ECR}", f"AWS@{_ECR}", f"{_ECR}.", "*.dkr.ecr.*.amazonaws.com", "*.amazonaws.com"),
        *("*.*.*.*.amazonaws.com", "*.*.*.*.*.*", "1*.dkr.ecr.eu-*.amazonaws.com", "*.dkr.ecr.us-*.amazonaws.com"),
        *(f"{_ACCOUNT}.dkr.ecr*.eu-central-1.amazonaws.com", f"{_ACCOUNT}.dkr.ecr.eu-central-1.amazonaws.com.cn"),
        *(f"{_ACCOUNT}.dkr-ecr.eu-central-1.on.aws", "*.dkr-ecr.*.on.aws", "**.dkr.ecr.**.amazonaws.com"),
        *(
            "public.ecr.aws",
            "public.ecr.aws/alias",
            "public.ecr.aws/",
            "https://public.ecr.aws/v2/",
            "*.ecr.aws",
            "*.*.*",
        ),
        *("public.ecr.aws/other", "PUBLIC.ECR.AWS", "public.ecr.aws:443", "ecr-public.aws.com", "aws.amazon.com"),
    ):
        yield Case(f"ECR: {host!r}", _with_hosts(host), ecr)

    addresses = ("[::1]:5000/app", "[::1]/app", "10.0.0.1:5000/app", "10.0.0.1/app", "localhost:5000/app", "A/app")
    for host in (
        *("[::1]:5000", "[::1]", "https://[::1]:5000/v2/", "::1", "[::1", "::1]", "[::1]:", "[::1]:x", "[::1]5000"),
        *(
            "[0:0:0:0:0:0:0:1]:5000",
            "[::1%25eth0]:5000",
            "[::1%eth0]:5000",
            "[::]:5000",
            "[::A]",
            "[::ffff:10.0.0.1]:5000",
        ),
        *("[1:2:3]", "[]", "[]:5000", "[10.0.0.1]:5000", "[x]:5000", "x[::1]:5000", "[[::1]]:5000", "*]", "*:5000"),
        *("10.0.0.1:5000", "10.0.0.1", "10.0.0.*:5000", "*.*.*.*:5000", "10.0.0.1:5001", "http://10.0.0.1:5000/v2/"),
        *("localhost:5000", "localhost", "*:5000/app", "*", "A", "0x0a.0.0.1:5000", "010.0.0.1"),
    ):
        yield Case(f"address: {host!r}", _with_hosts(host), addresses)


def _overlaps() -> Iterator[Case]:
    """Yield hosts that match one image together, for the order of their logins."""
    images = ("reg.example/team/app:1", "reg.example/te/app", "reg.example:443/team/app", "other.example/team/app")
    for name, hosts in {
        "path before host": ("reg.example", "reg.example/team"),
        "deep before shallow": ("reg.example/team/app", "reg.example", "reg.example/team"),
        "prefix of a name": ("reg.example/te", "reg.example/team"),
        "name before glob": ("*.example", "reg.example"),
        "globs": ("*.example", "*.*", "r*.example", "re*.example", "reg.*"),
        "glob with a path": ("*.example/team/app", "reg.example"),
        "scheme and none": ("reg.example", "https://reg.example"),
        "four spellings": ("reg.example", "https://reg.example", "http://reg.example/", "https://reg.example/v1/"),
        "v1 and v2": ("reg.example/v1/", "reg.example/v2/"),
        "v1 and v2 with a path": ("reg.example/v1/team", "reg.example/v2/team", "reg.example/team"),
        "spellings and a path": ("https://reg.example", "reg.example", "https://reg.example/team", "reg.example/team"),
        "port and none": ("reg.example", "reg.example:443"),
        "trailing slash of a path": ("reg.example/team", "reg.example/team/"),
        "an ignored one between": ("reg.example", "reg example", "https://reg.example"),
        "one that matches and one that does not": ("other.example", "reg.example"),
        "letters after digits": ("1.example", "reg.example", "*.example"),
        "escaped path": ("reg.example/team", "reg.example/t%65am"),
        "upper case": ("REG.example", "reg.example", "Reg.Example"),
        "none matches": ("a.example", "b.example"),
        "user info": ("reg.example", "u@reg.example"),
    }.items():
        yield Case(f"overlap: {name}", _with_hosts(*hosts), images)
    hub = ("nginx", "team/app", "localhost/app", "A/app")
    for name, hosts in {
        "docker.io before the index": ("https://index.docker.io/v1/", "docker.io"),
        "two spellings of the index": ("https://index.docker.io/v1/", "index.docker.io"),
        "the index with a path beside it": ("https://index.docker.io/v1/", "index.docker.io/library"),
        "docker.io with a path": ("https://index.docker.io/v1/", "docker.io/team"),
        "a glob hides the index": ("https://index.docker.io/v1/", "*.io"),
        "localhost before the index": ("https://index.docker.io/v1/", "localhost"),
        "one label hides the index": ("https://index.docker.io/v1/", "*"),
    }.items():
        yield Case(f"overlap on Docker Hub: {name}", _with_hosts(*hosts), hub)
    one = b'{"auths":{"reg.example":{},"https://reg.example":{"username":"u"},"*.example":null}}'
    yield Case("overlap: empty logins", one, images)


def _images() -> Iterator[Case]:
    """Yield the ways to name an image, with logins for each registry that they may come from."""
    config = _with_hosts("quay.io", "docker.io", "localhost", "*:5000", "a_b.example", "A", "*.*.*", "*", "[::1]:5000")
    digest = "sha256:" + "0123456789abcdef" * 4
    for group, images in {
        "tags and digests": (
            *("quay.io/a/b", "quay.io/a/b:1", "quay.io/a/b:", f"quay.io/a/b@{digest}", f"quay.io/a/b:1@{digest}"),
            *(
                "quay.io/a/b@sha256:12",
                "quay.io/a/b@sha256:" + "0" * 63,
                "quay.io/a/b@sha256:" + "0" * 65,
                "quay.io/a/b@sha256:" + "A" * 64,
                f"quay.io/a/b@{digest.upper()}",
                "quay.io/a/b@md5:" + "0" * 32,
            ),
            *("quay.io/a/b@sha512:" + "0" * 128, "quay.io/a/b@sha384:" + "0" * 96, f"quay.io/a/b:{'t' * 128}"),
            *(
                f"quay.io/a/b:{'t' * 129}",
                "quay.io/a/b:-1",
                "quay.io/a/b:v1+2",
                "quay.io/a/b:1:2",
                "quay.io/a/b:A_b.C-d",
            ),
        ),
        "names": (
            *("nginx", "nginx:1", "library/nginx", "team/app", "a/b/c", "docker.io/nginx", "index.docker.io/nginx"),
            *(
                "Nginx",
                "team/App",
                "team/a_b",
                "team/a__b",
                "team/a___b",
                "team/a--b",
                "team/a.b",
                "team/a..b",
                "team/a-",
            ),
            *(
                "",
                "/",
                "/nginx",
                "nginx/",
                "a//b",
                " nginx",
                "nginx ",
                "n\u00e4ginx",
                "-a/b",
                "a/-b",
                "0" * 64,
                "f" * 63,
            ),
            *("a" * 247, "a" * 248, "quay.io/" + "a" * 255, "quay.io/" + "a" * 256),
        ),
        "registries": (
            *("localhost/app", "localhost:5000/app", "LOCALHOST/app", "A/app", "a/app", "a:5000/app", "host:5000/app"),
            *(
                "quay.io:443/a",
                "QUAY.IO/a",
                "quay.io./a",
                ".quay.io/a",
                "a_b.example/app",
                "-a.example/app",
                "a-.b/app",
            ),
            *("[::1]:5000/app", "[::1]/app", "[::g]:5000/app", "[:::]:5000/app", "[1:2]:5000/app", "10.0.0.1:5000/app"),
            *(
                "https://quay.io/a",
                "quay.io/a b",
                "user@quay.io/a",
                "quay.io:/a",
                "quay.io:x/a",
                "a.b.c/app",
                "a.b.c.d/app",
            ),
            *(
                "docker.io",
                "quay.io",
                "docker.io/",
                "docker.io/Library/nginx",
                "index.docker.io/a/b",
                "docker.io:443/a",
            ),
        ),
    }.items():
        yield Case(f"image: {group}", config, images)
