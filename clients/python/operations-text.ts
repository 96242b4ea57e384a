import { type DescribedOperation, type InputMember, type OpenApi, operationsIn } from '../api-description.ts';
import { PythonTypes, pascalCase, pythonLiteral, pythonName } from './python-types.ts';

const MADE = '# Made by clients/generate.ts from the API description; do not edit.';
const FUTURE = 'from __future__ import annotations';
const TYPING = 'from typing import Any, Dict, List, Literal, Mapping, NotRequired, Tuple, TypeAlias, TypedDict, Union';

/** The generated modules of the Python client, by name. Throws for parts of the description that they cannot express. */
export function pythonClient(document: OpenApi) {
  const types = new PythonTypes();
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) types.define(name, schema);
  const operations = operationsIn(document).map((operation) => typed(operation, types));
  return {
    __init__: `${MADE}\n`,
    types: [MADE, FUTURE, '', TYPING, '', '', types.text, ''].join('\n'),
    operations: classesText(operations, types, false),
    async_operations: classesText(operations, types, true),
  };
}

interface TypedOperation {
  readonly operation: DescribedOperation;
  readonly inputs: readonly { readonly member: InputMember; readonly type: string }[];
  readonly answer: string;
}

function typed(operation: DescribedOperation, types: PythonTypes): TypedOperation {
  const place = `${pascalCase(operation.resource)}${pascalCase(operation.verb)}`;
  const inputs = operation.inputs.map((member) => {
    const written = member.types.map((type) =>
      type === 'text' ? 'str' : type === 'bytes' ? 'bytes' : types.of(type, `${place}${pascalCase(member.key)}`),
    );
    const different = [...new Set(written)];
    return { member, type: different.length === 1 ? (different[0] ?? 'Any') : `Union[${different.join(', ')}]` };
  });
  return { operation, inputs, answer: answerType(operation, types, place) };
}

function answerType({ route, answer }: DescribedOperation, types: PythonTypes, place: string): string {
  switch (route.answer) {
    case 'stream':
      return answer === null ? 'Dict[str, Any]' : types.of(answer, `${place}Event`);
    case 'json':
      return answer === null ? 'None' : types.of(answer, `${place}Answer`);
    case 'bytes':
      return 'bytes';
    case 'text':
      return 'str';
  }
}

/** One class for each resource, and one that holds them all. */
function classesText(operations: readonly TypedOperation[], types: PythonTypes, isAsync: boolean): string {
  const kind = isAsync ? 'Async' : '';
  const iterator = isAsync ? 'AsyncIterator' : 'Iterator';
  const resources = [...Map.groupBy(operations, ({ operation }) => operation.resource)];
  const used = operations.flatMap(({ inputs, answer }) => [answer, ...inputs.map(({ type }) => type)]).join(' ');
  const names = types.names.filter((name) => new RegExp(`\\b${name}\\b`).test(used)).sort();
  const lines = [
    MADE,
    FUTURE,
    '',
    `from typing import Any, ${iterator}, Dict, List, Literal, Mapping, Optional, Tuple, Union`,
    '',
    `from ..events import StreamedEvent`,
    `from ..request import CallOptions, Route`,
    `from ..sending import ${kind}Sender`,
    `from .types import (`,
    ...names.map((name) => `    ${name},`),
    ')',
    '',
    ...operations.map(({ operation }) => `${operation.constant} = ${routeText(operation)}`),
  ];
  for (const [resource, ofResource] of resources) {
    lines.push('', '', `class ${classOf(resource, isAsync)}:`);
    lines.push(`    def __init__(self, sender: ${kind}Sender) -> None:`, '        self._sender = sender');
    for (const operation of ofResource) lines.push('', ...methodLines(operation, isAsync));
  }
  lines.push('', '', `class ${kind}Operations:`, `    """The operations of the API, by resource."""`, '');
  lines.push(`    def __init__(self, sender: ${kind}Sender) -> None:`);
  for (const [resource] of resources)
    lines.push(`        self.${pythonName(resource)} = ${classOf(resource, isAsync)}(sender)`);
  return [...lines, ''].join('\n');
}

/** A name that no type has: `SecretKeys`, for example, is a type. */
const classOf = (resource: string, isAsync: boolean): string => `${isAsync ? 'Async' : ''}${pascalCase(resource)}Api`;

function routeText({ route }: DescribedOperation): string {
  const query = route.query.map((name) => `${JSON.stringify(name)}, `).join('');
  return `Route(${[route.method, route.path].map(pythonLiteral).join(', ')}, (${query}), ${pythonLiteral(route.body)}, ${pythonLiteral(route.answer)})`;
}

function methodLines({ operation, inputs, answer }: TypedOperation, isAsync: boolean): string[] {
  const { verb, constant, route, about } = operation;
  const needed = inputs.filter(({ member }) => member.isRequired);
  const free = inputs.filter(({ member }) => !member.isRequired);
  const given = [
    ...needed.map(({ member, type }) => `${pythonName(member.key)}: ${type}`),
    ...free.map(({ member, type }) => `${pythonName(member.key)}: Optional[${type}] = None`),
    'options: Optional[CallOptions] = None',
  ];
  const isStream = route.answer === 'stream';
  const result = isStream ? `${isAsync ? 'AsyncIterator' : 'Iterator'}[StreamedEvent[${answer}]]` : answer;
  const values = inputs.map(({ member }) => `${JSON.stringify(member.key)}: ${pythonName(member.key)}`).join(', ');
  const needs = needed.map(({ member }) => `${JSON.stringify(member.key)}, `).join('');
  const call = `${isAsync && !isStream ? 'await ' : ''}self._sender.${route.answer}(${constant}, {${values}}, (${needs}), options)`;
  return [
    // An asynchronous generator is called without `await`.
    `    ${isAsync && !isStream ? 'async ' : ''}def ${pythonName(verb)}(`,
    '        self,',
    '        *,',
    ...given.map((one) => `        ${one},`),
    `    ) -> ${result}:`,
    `        """${about
      .replaceAll('\\', '\\\\')
      .replaceAll('"""', "'''")
      .replaceAll(/\s*\n\s*/g, ' ')}"""`,
    ...inputs.flatMap(({ member }) => aboutInput(member)),
    `        answer: ${result} = ${call}`,
    '        return answer',
  ];
}

function aboutInput({ key, description }: InputMember): string[] {
  if (description === undefined || description === '') return [];
  return [`        # ${pythonName(key)}: ${description.replaceAll(/\s*\n\s*/g, ' ')}`];
}
