"""What must not be shown: passwords and keys in locations, and what a store's answer repeats of a request.

One rule for every error, plan and report. In a URI the name and password before the host are left out (a container of
Azure's stands there too, and is shown), and so is what stands behind a question mark, but for what a listing asks for.
Of an answer in XML only the code and the message are shown: the rest may repeat the token that was sent. Tokens and
signatures are left out wherever they stand.
"""

import re

HIDDEN = "…"
_CONTAINER = ("abfs", "abfss", "wasb", "wasbs")
# What stands before a host; a password may have a slash in it, and a port is no password.
_USER = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?P<user>[^/?#\s@'\"]*:(?!\d*(?:[/?#\s'\"]|$))[^?#\s'\"]*@|[^/?#\s'\"]*@)"
)
_QUERY = re.compile(r"(?P<uri>\b(?!file:)[A-Za-z][A-Za-z0-9+.-]*://[^\s?'\"<>]*)\?(?P<query>[^\s'\"<>]*)")
_HARMLESS = ("list-type", "prefix", "delimiter", "versionId", "partNumber")
_ANSWER = re.compile(r"(?:<\?xml[^>]*\?>\s*)?<(?P<root>Error|ErrorResponse)\b.*?(?:</(?P=root)>|\Z)", re.DOTALL)
_TOKEN = re.compile(r"(?P<before>\bBearer\s+|\bsig=)(?P<token>[^\s&\"'<>,;}]+)")
_PARTS = re.compile(r"<(Code|Message)>([^<]*)</\1>")


def masked(text: str) -> str:
    """A text without the secrets that stand in its URIs and in a store's answer."""
    text = _ANSWER.sub(lambda answer: ": ".join(part[2] for part in _PARTS.finditer(answer[0])), text)
    return _TOKEN.sub(rf"\g<before>{HIDDEN}", _QUERY.sub(_without_values, _USER.sub(_without_password, text)))


def _without_password(match: re.Match[str]) -> str:
    user = match["user"]
    before = match[0][: -len(user)]
    if match["scheme"].lower() not in _CONTAINER:
        return f"{before}{HIDDEN}@"
    container, colon, _ = user.rstrip("@").partition(":")
    return f"{before}{container}:{HIDDEN}@" if colon else match[0]


def _without_values(match: re.Match[str]) -> str:
    parts = (part.partition("=") for part in match["query"].split("&"))
    shown = [f"{name}={value if name in _HARMLESS else HIDDEN}" if equals else HIDDEN for name, equals, value in parts]
    return f"{match['uri']}?{'&'.join(shown)}"
