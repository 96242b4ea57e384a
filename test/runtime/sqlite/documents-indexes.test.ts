import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { EXECUTIONS } from '../../../actors/execution/view.ts';
import type { Condition } from '../../../runtime/documents.ts';
import { countOf, schemaOf, tableOf } from '../../../runtime/sqlite/documents-sql.ts';
import { seenPart, type Viewer } from '../../../runtime/viewer.ts';

describe('what lists leave out is in the indexes', () => {
  const database = new DatabaseSync(':memory:');
  for (const text of schemaOf(EXECUTIONS)) database.exec(text);
  after(() => database.close());
  const planOf = (where: Readonly<Record<string, Condition>>): string => {
    const { text, values } = countOf(tableOf(EXECUTIONS.name), { tenant: 'acme', where });
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    return rows.map(({ detail }) => String(detail)).join('; ');
  };

  test('a user’s list of executions passes over the own ones of others without reading them', () => {
    const viewers: readonly Viewer[] = ['acme', { tenant: 'acme', subject: 'ann', kind: 'tenant_user', roles: [] }];
    const lists: readonly Record<string, Condition>[] = [
      { removed: false },
      { removed: false, agent_id: 'a', ended_at: { gt: '' } },
    ];
    for (const viewer of viewers)
      for (const where of lists) assert.match(planOf({ ...where, ...seenPart(viewer) }), /USING COVERING INDEX/);
  });
});
