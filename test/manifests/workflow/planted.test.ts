import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERROR_CURES, validateWorkflow } from '../../../catalog/manifest-work.ts';
import { RULES } from '../../../manifests/workflow/check/check-workflow.ts';
import { workflowText } from './document.ts';
import { known } from './known.ts';
import { PLANTED } from './planted.ts';

/** Where a defect cannot stand alone: what else is true of it. */
const COMPANIONS: Readonly<Record<string, readonly string[]>> = {
  no_terminal_state: ['loop_without_exit'],
};

describe('a manifest with one planted defect', () => {
  it('there are at least 60, and every rule has one', () => {
    assert.ok(PLANTED.length >= 60, `${PLANTED.length}`);
    const planted = new Set(PLANTED.map(({ rule }) => rule));
    const rules = [...RULES.map(({ id }) => id), ...Object.keys(ERROR_CURES)];
    const elsewhere = ['invalid_yaml', 'size_is_measured', 'no_way_to_end'];
    assert.deepEqual(
      rules.filter((rule) => !planted.has(rule)),
      elsewhere.reverse(),
    );
  });

  for (const { title, rule, path, states, spec, metadata } of PLANTED)
    it(`is named ${rule}: ${title}`, () => {
      const text = workflowText(states, spec, metadata);
      const { findings } = validateWorkflow(text, known);
      const main = findings.filter((finding) => !COMPANIONS[rule]?.includes(finding.rule));
      assert.deepEqual(
        main.map((finding) => [finding.rule, finding.path]),
        [[rule, path]],
        JSON.stringify(findings, null, 1),
      );
      const [finding] = main;
      assert.ok(finding !== undefined && finding.line > 0 && finding.column > 0);
      assert.ok(finding.message.length > 10 && finding.cure.length > 10);
      const severity = RULES.find(({ id }) => id === rule)?.severity ?? 'warning';
      assert.equal(finding.severity, Object.hasOwn(ERROR_CURES, rule) ? 'error' : severity);
    });

  it('is named size_is_measured: a size on a node that measures volumes', () => {
    const storage = { workspace: { size_limit_mb: 5 }, shared_volumes: [] };
    const text = workflowText({ s: { kind: 'System', command: 'a', transitions: [{ target: 'end' }] } }, { storage });
    const found = (enforcesSize: boolean) =>
      validateWorkflow(text, { storage: { maxSizeLimitMb: 10, enforcesSize } }).findings.map(
        ({ rule, path, severity }) => `${severity} ${rule} ${path}`,
      );
    assert.deepEqual(found(false), ['warning size_is_measured spec.storage.workspace.size_limit_mb']);
    assert.deepEqual(found(true), []);
  });

  it('is named invalid_yaml: a quote that is not closed', () => {
    const { findings, manifest } = validateWorkflow('apiVersion: "svc.dev/v1\nkind: Workflow\n');
    assert.equal(manifest, null);
    assert.deepEqual([...new Set(findings.map(({ rule, severity }) => `${severity} ${rule}`))], ['error invalid_yaml']);
  });

  it('is named no_way_to_end: a state that only leads into a loop without exit', () => {
    const done = [{ target: 'end' }];
    const states = {
      s: { kind: 'System', command: 'a', transitions: [{ condition: 'on_success', target: 'end' }, { target: 'way' }] },
      way: { kind: 'System', command: 'b', transitions: [{ target: 'ring' }] },
      ring: { kind: 'System', command: 'c', transitions: [{ target: 'ring' }] },
      other: { kind: 'System', command: 'd', transitions: done },
    };
    const { findings } = validateWorkflow(workflowText(states));
    assert.deepEqual(
      findings.map(({ rule, path }) => `${rule} ${path}`),
      [
        'no_way_to_end spec.states.way',
        'loop_without_exit spec.states.ring.transitions',
        'unreachable_state spec.states.other',
      ],
    );
  });

  it('is named twice when a state is reached by a transition only that is never evaluated', () => {
    const states = {
      s: {
        kind: 'System',
        command: 'a',
        transitions: [{ target: 'end' }, { condition: 'on_failure', target: 'lost' }],
      },
      lost: { kind: 'System', command: 'b', transitions: [{ target: 'end' }] },
    };
    const { findings } = validateWorkflow(workflowText(states));
    assert.deepEqual(
      findings.map(({ rule, path }) => `${rule} ${path}`),
      ['transition_never_evaluated spec.states.s.transitions[1]', 'unreachable_state spec.states.lost'],
    );
  });
});
