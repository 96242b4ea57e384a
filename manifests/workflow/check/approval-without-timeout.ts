import { quoted, type Rule, statePath } from './rule.ts';

export const approvalWithoutTimeout: Rule = {
  id: 'approval_without_timeout',
  cure: 'Add `timeout`, and `default_response` or an on_failure transition for when it elapses.',
  *check({ flow }) {
    for (const [name, state] of flow.states)
      if (state.kind === 'Human' && state.timeout_ms === null)
        yield { path: statePath(name), message: `state ${quoted(name)} waits for an answer without end` };
  },
};
