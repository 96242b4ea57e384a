import { type DescribedOperation, type InputMember, type OpenApi, operationsIn } from '../api-description.ts';
import { commentLines, keyText, typeText } from './type-text.ts';

/** The text of gen/operations.ts for an API description. Throws for parts of the description that it cannot express. */
export function typescriptClient(document: OpenApi): string {
  const operations = operationsIn(document);
  const named = Object.entries(document.components?.schemas ?? {});
  const lines = [
    '// Made by clients/generate.ts from the API description; do not edit.',
    'import type { CallOptions, Route, Sender, StreamedEvent } from "../client.ts";',
    '',
    ...named.flatMap(([name, schema]) => [`export type ${name} = ${typeText(schema)};`, '']),
    '/** The operations of the API, by resource. */',
    'export interface SvcClient {',
  ];
  for (const [resource, ofResource] of Map.groupBy(operations, (operation) => operation.resource)) {
    lines.push(`  readonly ${camelCase(resource)}: {`);
    for (const operation of ofResource) lines.push(...signatureOf(operation).map((line) => `    ${line}`));
    lines.push('  };');
  }
  lines.push('}', '');
  for (const { constant, route } of operations) lines.push(`const ${constant}: Route = ${JSON.stringify(route)};`);
  lines.push('', '/** The operations, sent by `sender`. */');
  lines.push('export const operationsOf = (sender: Sender): SvcClient => ({');
  for (const [resource, ofResource] of Map.groupBy(operations, (operation) => operation.resource)) {
    lines.push(`  ${camelCase(resource)}: {`);
    for (const { verb, constant, route, inputs } of ofResource) {
      const given = inputs.length > 0 ? 'input, options' : 'options';
      const input = inputs.length > 0 ? 'input' : '{}';
      lines.push(`    ${camelCase(verb)}: (${given}) => sender.${route.answer}(${constant}, ${input}, options),`);
    }
    lines.push('  },');
  }
  lines.push('});', '');
  return lines.join('\n');
}

const camelCase = (name: string): string => name.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());

/** The lines of an operation in the interface of the client. */
function signatureOf(operation: DescribedOperation): string[] {
  const { verb, inputs, isInputOptional, about } = operation;
  const options = 'options?: CallOptions';
  const members = inputs.flatMap(memberLines).join('\n');
  const given = inputs.length === 0 ? options : `input${isInputOptional ? '?' : ''}: {\n${members}\n    }, ${options}`;
  return [...commentLines(about, ''), `${camelCase(verb)}(${given}): ${resultText(operation)};`];
}

function resultText({ route, answer }: DescribedOperation): string {
  switch (route.answer) {
    case 'stream': {
      const event = answer === null ? 'Readonly<Record<string, unknown>>' : typeText(answer, '    ');
      return `AsyncGenerator<StreamedEvent<${event}>, void, undefined>`;
    }
    case 'json':
      return `Promise<${answer === null ? 'null' : typeText(answer, '    ')}>`;
    case 'bytes':
      return 'Promise<Uint8Array>';
    case 'text':
      return 'Promise<string>';
  }
}

function memberLines({ key, isRequired, description, types }: InputMember): string[] {
  const written = types.map((type) =>
    type === 'text' ? 'string' : type === 'bytes' ? 'Uint8Array' : typeText(type, '      '),
  );
  const mark = isRequired ? '' : '?';
  return [
    ...commentLines(description, '      '),
    `      readonly ${keyText(key)}${mark}: ${[...new Set(written)].join(' | ')};`,
  ];
}
