import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workflowEvents } from '../../actors/workflow/events.ts';
import { workflowEventLine } from '../../cli/screen/live-view.ts';

test('each event of a workflow run is a line in words, never its name, or no line', () => {
  for (const name of Object.keys(workflowEvents)) {
    const payload = { state_name: 'BUILD', parent_state_name: 'BUILD' };
    const line = workflowEventLine({ id: 1, name, payload, data: JSON.stringify(payload) });
    assert.ok(line === null || !line.includes(name), `${name}: ${line}`);
  }
});
