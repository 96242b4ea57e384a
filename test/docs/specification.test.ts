import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import protobuf from 'protobufjs';
import { NodeConfigSchema } from '../../manifests/node/schema.ts';
import { SPECIFIED_TABLES } from '../tools/management/specified-tables.ts';
import { shows } from './conformance.ts';
import { exists } from './pages.ts';
import { DOCUMENTS, mappings, pageOf, pageText, rowsOf, shownBy } from './specification/specification.ts';

const rows = DOCUMENTS.flatMap(({ number }) => rowsOf(number));
/** Rows that the documents have: fewer are a mistake. */
const LEAST_ROWS = 840;

test('every row of the three documents is there once', () => {
  assert.ok(rows.length >= LEAST_ROWS, `${rows.length} rows`);
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
});

test('every test that is named is there under its title, and every pattern is one of a row', () => {
  const named = mappings.flatMap(({ tests }) => tests);
  assert.deepEqual(
    named
      .filter(({ file, title }) => !exists(file) || !shows(file, title))
      .map(({ file, title }) => `${file} ${title}`),
    [],
  );
  const unused = mappings.flatMap(({ patterns }) => patterns).filter((one) => !rows.some(({ id }) => one.test(id)));
  assert.deepEqual(unused.map(String), []);
});

test('no row is without a test', () => {
  assert.deepEqual(
    rows.filter((row) => shownBy(row).length === 0).map(({ id }) => id),
    [],
  );
});

/** `Message: name (type,number; …)` of document 1, as a field of a .proto. */
function fieldIn(text: string): string | null {
  const [, message, name, rule = '', type, number] =
    /^(\w+): (\w+) \((optional |repeated )?([\w<>,]+?), ?(\d+)/.exec(text) ?? [];
  return message === undefined ? null : `${message}.${name} ${rule}${type} ${number}`;
}

function fieldsOfProto(file: string, name: string): string[] {
  const { root } = protobuf.parse(readFileSync(file, 'utf8'), { keepCase: true });
  const found: string[] = [];
  const visit = (at: protobuf.ReflectionObject): void => {
    if (at instanceof protobuf.Type) {
      for (const field of at.fieldsArray) {
        const type = field instanceof protobuf.MapField ? `map<${field.keyType},${field.type}>` : field.type;
        const rule = field.repeated ? 'repeated ' : field.getOption('proto3_optional') === true ? 'optional ' : '';
        found.push(`${at.name}.${field.name} ${rule}${type.replace(/^.*\./, '')} ${field.id}`);
      }
    }
    if (at instanceof protobuf.Namespace) for (const inner of at.nestedArray) visit(inner);
  };
  visit(root.lookup(name) ?? root);
  return found;
}

test('every field of a message that document 1 names is in the .proto, with its type and number', () => {
  const protos = [
    ...fieldsOfProto('proto/svc/runtime/v1/runtime.proto', 'svc.runtime.v1'),
    ...fieldsOfProto('proto/svc/cluster/v1/cluster.proto', 'svc.cluster.v1'),
  ];
  const fields = rowsOf(1).flatMap(({ text }) => fieldIn(text) ?? []);
  assert.ok(fields.length > 120, `${fields.length} fields`);
  assert.deepEqual(
    fields.filter((field) => !protos.includes(field)),
    [],
  );
});

test('every argument of a tool that document 3 names is in the table of tools', () => {
  const known = Object.entries(SPECIFIED_TABLES).flatMap(([tool, { arguments: args }]) => [
    tool,
    ...Object.entries(args).map(([name, { required }]) => `${tool}: argument ${name}${required === true ? '*' : ''}`),
  ]);
  const named = rowsOf(3).flatMap(({ text }) => /^svc\.[\w.]+(: argument \w+\*?)?/.exec(text)?.[0] ?? []);
  assert.ok(named.length > 150, `${named.length} named`);
  assert.deepEqual(
    named.filter((name) => !known.includes(name)),
    [],
  );
});

test('defaults that the documents name are those of the settings', () => {
  const { network, cluster } = NodeConfigSchema.parse({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec: {} }).spec;
  assert.deepEqual([network.port, network.grpc_port], [8080, 50_051]);
  assert.deepEqual([cluster.cluster_grpc_port, cluster.heartbeat_interval_secs], [50_056, 30]);
});

test('the pages are up to date: npm run conformance', () => {
  for (const document of DOCUMENTS) {
    assert.equal(readFileSync(pageOf(document.number), 'utf8'), pageText(document), pageOf(document.number));
  }
});
