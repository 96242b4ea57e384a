import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { areaOfPath } from '../../../transport/rest/request-context.ts';
import { SURFACE } from '../../product/surface.ts';

describe('what the scopes of API keys reach', () => {
  test('every route that needs an identity belongs to an area, so that no key needs * for it', () => {
    const without = Object.entries(SURFACE).filter(
      ([operation, { access }]) =>
        access !== 'public' && areaOfPath(operation.split(' ')[1] ?? '', access) === undefined,
    );
    assert.deepEqual(
      without.map(([operation]) => operation),
      [],
    );
  });

  test('starting belongs to the area of executions, whatever is started, and generating to that of the generated kind', () => {
    assert.equal(areaOfPath('/v1/agents/:id/execute', 'run'), 'executions');
    assert.equal(areaOfPath('/v1/workflows/:name/run', 'run'), 'executions');
    assert.equal(areaOfPath('/v1/agents/generate', 'run'), 'agents');
    assert.equal(areaOfPath('/v1/workflows/executions/:id', 'read'), 'executions');
    assert.equal(areaOfPath('/v1/workflows/:name', 'read'), 'workflows');
    assert.equal(areaOfPath('/mcp', 'run'), 'tools');
  });

  test('a path that only begins like another is not of its area', () => {
    for (const path of [
      '/v1/agentsx',
      '/v1',
      '/',
      '',
      '/v1/admin',
      '/v1/secretsandmore/x',
      '/v1/__proto__',
      '/constructor',
    ]) {
      assert.equal(areaOfPath(path, 'read'), undefined, path);
    }
  });
});
