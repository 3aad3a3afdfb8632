"""What `ckpt scan --sarif` prints, held to what GitHub's code scanning asks of SARIF 2.1.0: the properties that it calls
required, and values that it takes (docs.github.com, SARIF support for code scanning)."""

import json
import re
from urllib.parse import unquote, urlsplit

from forge import name, program, torch_zip
from scan_cases import EVIL, GOOD

FILES = {
    "dangerous.pkl": EVIL,
    "a name with blanks, %41 and #.pkl": EVIL,
    "schräg/\u202eunter\x1b.zip": torch_zip(EVIL),
    "unknown.pkl": program(name("zoo", "Net")),
    "packed.7z": b"7z\xbc\xaf\x27\x1c" + bytes(100),
    "safe.pkl": GOOD,
    "readme.txt": b"hello",
}


def is_text(value):
    return isinstance(value, dict) and isinstance(value.get("text"), str) and bool(value["text"])


def faults_of_rule(rule):
    for key in ("shortDescription", "fullDescription", "help"):
        if not is_text(rule.get(key)):
            yield f"{key}.text"
    if not isinstance(rule.get("id"), str):
        yield "id"
    if rule["defaultConfiguration"]["level"] not in ("note", "warning", "error"):
        yield "defaultConfiguration.level"
    if not 0 < float(rule["properties"]["security-severity"]) <= 10:
        yield "properties.security-severity"


def faults_of_result(result, rules, files):
    if not is_text(result.get("message")):
        yield "message.text"
    if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
        yield "ruleId"
    if not re.fullmatch("[0-9a-f]{32}:1", result["partialFingerprints"]["primaryLocationLineHash"]):
        yield "partialFingerprints"
    if not result["locations"]:
        yield "locations"
    for location in result["locations"]:
        physical = location["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        parts = urlsplit(uri)
        if not re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri) or parts.scheme or unquote(uri) not in files:
            yield f"artifactLocation.uri {uri}"
        region = physical["region"]
        if any(region.get(key) != 1 for key in ("startLine", "startColumn", "endLine", "endColumn")):
            yield f"region {region}"


def check(suite, ckpt, folder):
    for name, data in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    done = ckpt("scan", "--sarif", ".", cwd=folder)
    suite.check("SARIF: status", done.code == 1, done)
    log = json.loads(done.out)
    again = ckpt("scan", "--sarif", *FILES, cwd=folder).json["runs"][0]["results"]
    suite.check("SARIF: version and schema", log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json"), done)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    suite.check("SARIF: tool", driver["name"] == "ckpt" and len({r["id"] for r in driver["rules"]}) == len(driver["rules"]), done)
    for rule in driver["rules"]:
        suite.equal(f"SARIF: rule {rule['id']}", list(faults_of_rule(rule)), [])
    for result in run["results"]:
        suite.equal(f"SARIF: {result['message']['text']}", list(faults_of_result(result, driver["rules"], FILES)), [])
    found = sorted((r["ruleId"], unquote(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])) for r in run["results"])
    expected = [("dangerous-name", name) for name in FILES if FILES[name] == EVIL or name.endswith(".zip")]
    suite.equal("SARIF: results", found, sorted([*expected, ("unknown-name", "unknown.pkl"), ("unreadable", "packed.7z")]))
    prints = {r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]}
    suite.check("SARIF: fingerprints differ", len(prints) == len(run["results"]), prints)
    suite.check("SARIF: … and are the same in another run", prints <= {r["partialFingerprints"]["primaryLocationLineHash"] for r in again}, again)
