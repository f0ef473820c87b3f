"""A plugin of pytest: holds every answer that a test gets from an OTG server against the model's OpenAPI file (OTG_OPENAPI)."""

import os
import re

import requests
import yaml
from openapi_schema_validator import OAS30Validator

with open(os.environ["OTG_OPENAPI"]) as file:
    MODEL = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def resolved(response):
    """The response object, where the model refers to it."""
    name = re.fullmatch(r"#/components/responses/(\w+)", response.get("$ref", ""))
    return MODEL["components"]["responses"][name[1]] if name else response


def check(answer):
    """Fails if an answer is none of the model."""
    path = requests.utils.urlparse(answer.url).path
    responses = MODEL["paths"][path][answer.request.method.lower()]["responses"]
    content = resolved(responses.get(str(answer.status_code), responses["default"]))["content"]
    kind = answer.headers["content-type"].split(";")[0]
    assert kind in content, f"{path}: {kind}, not {list(content)}"
    if kind == "application/json":
        schema = {**content[kind]["schema"], "components": MODEL["components"]}
        OAS30Validator(schema).validate(answer.json())


REQUEST = requests.Session.request
CHECKED = []


def request(session, *arguments, **named):
    answer = REQUEST(session, *arguments, **named)
    check(answer)
    CHECKED.append(answer.url)
    return answer


requests.Session.request = request


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"{len(CHECKED)} answers are as the model has them")
