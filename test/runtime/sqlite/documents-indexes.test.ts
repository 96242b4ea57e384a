import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { APPROVALS } from '../../../actors/approval/view.ts';
import { EXECUTIONS } from '../../../actors/execution/view.ts';
import { STIMULI } from '../../../actors/stimulus/view.ts';
import { TOOL_SESSIONS } from '../../../actors/tool-session/view.ts';
import { WORKFLOW_EXECUTIONS } from '../../../actors/workflow/view.ts';
import { AGENTS } from '../../../catalog/agent-record.ts';
import { WORKFLOWS } from '../../../catalog/workflow-catalog.ts';
import { rangesOf } from '../../../runtime/documents/document-query.ts';
import type { CollectionSpec, Condition, Find } from '../../../runtime/documents.ts';
import { seenPart, type Viewer } from '../../../runtime/identity.ts';
import {
  countOf,
  DOCUMENT_COLUMNS,
  STORED_COLUMNS,
  schemaOf,
  selectOf,
  tableOf,
} from '../../../runtime/sqlite/documents-sql.ts';

describe('filters of lists are part of the indexes', () => {
  const database = new DatabaseSync(':memory:');
  for (const { when, text } of schemaOf(EXECUTIONS)) if (when === 'missing') database.exec(text);
  after(() => database.close());
  const planOf = (where: Readonly<Record<string, Condition>>): string => {
    const { text, values } = countOf(tableOf(EXECUTIONS.name), { tenant: 'acme', where });
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    return rows.map(({ detail }) => String(detail)).join('; ');
  };

  test('a user’s list of executions skips private ones of others without reading them', () => {
    const viewers: readonly Viewer[] = ['acme', { tenant: 'acme', subject: 'ann', kind: 'tenant_user', roles: [] }];
    const lists: readonly Record<string, Condition>[] = [
      { removed: false },
      { removed: false, agent_id: 'a', ended_at: { gt: '' } },
    ];
    for (const viewer of viewers)
      for (const where of lists) assert.match(planOf({ ...where, ...seenPart(viewer) }), /USING COVERING INDEX/);
  });
});

describe('a page behind a position', () => {
  const database = new DatabaseSync(':memory:');
  const specs = [EXECUTIONS, WORKFLOW_EXECUTIONS, APPROVALS, STIMULI, TOOL_SESSIONS, AGENTS, WORKFLOWS];
  for (const { when, text } of specs.flatMap(schemaOf)) if (when === 'missing') database.exec(text);
  after(() => database.close());
  const plansOf = (spec: CollectionSpec, find: Omit<Find, 'tenant' | 'limit'>, columns: string): string[] => {
    const asked = { tenant: 'acme', limit: 20, ...find };
    return rangesOf(asked).map((range) => {
      const { text, values } = selectOf(tableOf(spec.name), asked, range, columns);
      const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
      return rows.map(({ detail }) => String(detail)).join('; ');
    });
  };
  const newest = (field: string) =>
    [
      [field, 'desc'],
      ['id', 'desc'],
    ] as const;

  test('is found along an index, nothing sorted and nothing passed over', () => {
    const after = ['2026-01-01', 'an-id'];
    const lists: readonly [CollectionSpec, string, Record<string, Condition>][] = [
      [EXECUTIONS, 'started_at', { removed: false }],
      [EXECUTIONS, 'started_at', { removed: false, agent_id: 'a' }],
      [WORKFLOW_EXECUTIONS, 'started_at', { removed: false, workflow_id: 'w' }],
      [APPROVALS, 'created_at', { status: 'pending' }],
      [STIMULI, 'received_at', {}],
      [TOOL_SESSIONS, 'opened_at', {}],
    ];
    for (const [spec, field, where] of lists)
      for (const plan of plansOf(spec, { where, sort: newest(field), after }, DOCUMENT_COLUMNS)) {
        assert.match(plan, /^SEARCH \w+ USING INDEX [^;]*(<expr>=\? AND id<\?|<expr><\?|<expr>=\?)\)$/, plan);
        assert.doesNotMatch(plan, /TEMP B-TREE/);
      }
  });

  test('of a catalog is answered from the index alone when keys and versions are asked for', () => {
    const where = { owner: { in: ['', 'ann'] }, scope: { in: ['user', 'tenant'] }, status: { in: ['deployed'] } };
    const sort = [
      ['name', 'asc'],
      ['id', 'asc'],
    ] as const;
    for (const spec of [AGENTS, WORKFLOWS])
      for (const plan of plansOf(spec, { where, sort, after: ['a-name', 'an-id'] }, STORED_COLUMNS)) {
        assert.match(plan, /USING COVERING INDEX/);
        assert.doesNotMatch(plan, /TEMP B-TREE/);
      }
  });
});
