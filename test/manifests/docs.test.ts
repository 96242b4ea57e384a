import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { z } from 'zod';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import { AGENT_MANIFEST_KEY, agentJsonSchema } from '../../manifests/agent/schema.ts';
import { CONFIG_FILE, SETTING_SOURCES } from '../../manifests/node/managed.ts';
import { NodeConfigSchema } from '../../manifests/node/schema.ts';
import { resolveSettings } from '../../manifests/node/settings.ts';
import { codeBlocks, fieldsOf, tableRows } from './schema-fields.ts';

const page = (name: string) => readFileSync(new URL(`../../docs/reference/${name}.md`, import.meta.url), 'utf8');
const agentPage = page('agent-manifest');
const nodePage = page('configuration');

/** Field to default, as a page must show it. */
const expectedRows = (schema: unknown): Record<string, string> =>
  Object.fromEntries(
    fieldsOf(schema).map(({ path, fallback, required }) => [path, required ? 'required' : fallback || 'none']),
  );
const fieldRows = (markdown: string) =>
  Object.fromEntries([...tableRows(markdown)].filter(([cell]) => !cell.startsWith('--')));

describe('docs/reference/agent-manifest.md', () => {
  it('shows every field of the schema with its default, and no other', () => {
    assert.deepEqual(fieldRows(agentPage), expectedRows(agentJsonSchema()));
  });

  it('shows manifests that can be deployed, and that the JSON Schema for editors accepts', () => {
    const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(agentJsonSchema());
    const examples = codeBlocks(agentPage, 'yaml');
    assert.ok(examples.length >= 4);
    for (const example of examples) {
      const parsed = parseAgentManifest(example);
      assert.ok(parsed.ok, JSON.stringify(parsed));
      assert.ok(accepts(parse(example)), JSON.stringify(accepts.errors));
    }
    assert.equal(accepts({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: {}, spec: {} }), false);
  });

  it('names the key of the JSON Schema', () => {
    assert.equal(AGENT_MANIFEST_KEY, 'agent/manifest/v1');
    assert.ok(agentPage.includes(AGENT_MANIFEST_KEY));
  });
});

describe('docs/reference/configuration.md', () => {
  it('shows every setting of the schema with its default, and no other', () => {
    assert.deepEqual(fieldRows(nodePage), expectedRows(z.toJSONSchema(NodeConfigSchema, { io: 'input' })));
  });

  it('shows every flag with its variable, and no other', () => {
    const shown = [...tableRows(nodePage)].filter(([cell]) => cell.startsWith('--'));
    const sources = [...SETTING_SOURCES, CONFIG_FILE];
    assert.deepEqual(
      shown,
      sources.map(({ flag, env }) => [`--${flag}`, env ?? 'none']),
    );
  });

  it('shows files that a node starts with', () => {
    for (const file of codeBlocks(nodePage, 'yaml')) {
      const resolved = resolveSettings({ flags: {}, env: {}, file });
      assert.ok(resolved.ok, JSON.stringify(resolved));
    }
  });
});
