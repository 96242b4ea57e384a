import { type FieldRule, NUMBER, REQUIRED, same, WHOLE } from './rule.ts';

export const KIND_RULES: readonly FieldRule[] = [
  {
    on: 'Agent',
    field: 'agent',
    accepts: same('writer', '0f8fad5b-d9cb-469f-a165-70867728950e', '{{input.agent}}'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1 character/],
      [1, /expected text/],
    ],
  },
  {
    on: 'Agent',
    field: 'input',
    accepts: same('Write about {{input.topic}}', undefined),
    refuses: [
      [{}, /expected text/],
      ['x'.repeat(65_537), /at most 65536 characters/],
    ],
  },
  {
    on: 'Agent',
    field: 'isolation',
    accepts: [...same('firecracker', 'docker', 'process', 'inherit'), [undefined, 'inherit']],
    refuses: [['vm', /expected one of inherit, firecracker, docker, process, got "vm"/]],
  },
  {
    on: 'System',
    field: 'command',
    accepts: same('npm test', 'update_context', '{{blackboard.command}}'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1/],
      [['npm'], /expected text, got a list/],
    ],
  },
  {
    on: 'System',
    field: 'env',
    accepts: [
      [
        { A: 'b', N: 1, T: true },
        { A: 'b', N: '1', T: 'true' },
      ],
      [undefined, {}],
    ],
    refuses: [
      [{ A: ['b'] }, /put it in quotes/, 'env.A'],
      [['A=b'], /expected a map/],
    ],
  },
  {
    on: 'System',
    field: 'workdir',
    accepts: [...same('/workspace/app'), [undefined, '/workspace']],
    refuses: [[1, /expected text/]],
  },
  {
    on: 'Human',
    field: 'prompt',
    accepts: same('Ship {{BUILD.output}}?'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1/],
    ],
  },
  {
    on: 'Human',
    field: 'default_response',
    accepts: [...same('approved', undefined), [true, 'true']],
    refuses: [[['yes'], /put it in quotes/]],
  },
  {
    on: 'ParallelAgents',
    field: 'agents',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      [[], /at least 1 entry/],
      [[{}], REQUIRED, 'agents[0].agent'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.agent',
    accepts: same('judge', '{{input.judge}}'),
    refuses: [['', /at least 1/]],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.input',
    accepts: same('Judge {{WRITE.output}}', undefined),
    refuses: [[1, /expected text/]],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.weight',
    accepts: [...same(0.5, 2, 0), [undefined, 1]],
    refuses: [
      [-1, /at least 0/],
      ['1', NUMBER],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.timeout_seconds',
    accepts: [...same(1, 120), [undefined, 60]],
    refuses: [
      [0, /at least 1/],
      [1.5, WHOLE],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'agents.0.poll_interval_ms',
    accepts: [...same(100), [undefined, 500]],
    refuses: [
      [0, /at least 1/],
      ['1s', NUMBER],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus',
    accepts: [],
    refuses: [
      [undefined, REQUIRED],
      [{}, /expected one of weighted_average/, 'consensus.strategy'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.strategy',
    accepts: same('weighted_average', 'majority', 'unanimous'),
    refuses: [
      ['any', /expected one of weighted_average, majority, unanimous, best_of_n, got "any"/],
      ['best_of_n', /required for strategy best_of_n/, 'consensus.n'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus',
    accepts: [
      [
        { strategy: 'best_of_n', n: 2 },
        {
          strategy: 'best_of_n',
          n: 2,
          threshold: 0.7,
          min_judges_required: 1,
          early_stop: false,
          confidence_weighting: { agreement_factor: 0.7, self_confidence_factor: 0.3 },
        },
      ],
    ],
    refuses: [
      [{ strategy: 'best_of_n', n: 0 }, /at least 1/, 'consensus.n'],
      [{ strategy: 'best_of_n', threshold: 2 }, /required for strategy best_of_n/, 'consensus.n'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.threshold',
    accepts: [...same(0, 1, 0.85), [undefined, 0.7]],
    refuses: [
      [1.01, /at most 1, got 1\.01/],
      [-0.1, /at least 0/],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.min_agreement_confidence',
    accepts: same(0, 1, undefined),
    refuses: [[2, /at most 1/]],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.agreement',
    out: 'consensus.min_agreement_confidence',
    accepts: same(0.6),
    refuses: [[-1, /at least 0/]],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus',
    accepts: [],
    refuses: [
      [{ strategy: 'majority', agreement: 0.5, min_agreement_confidence: 0.6 }, /another name/, 'consensus.agreement'],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.min_judges_required',
    accepts: [...same(2), [undefined, 1]],
    refuses: [
      [0, /at least 1/],
      [1.5, WHOLE],
    ],
  },
  {
    on: 'ParallelAgents',
    field: 'consensus.confidence_weighting',
    accepts: [
      ...same(
        { agreement_factor: 0.6, self_confidence_factor: 0.4 },
        { agreement_factor: 1, self_confidence_factor: 0 },
      ),
      [{ agreement_factor: 0.6 }, { agreement_factor: 0.6, self_confidence_factor: 0.4 }],
      [{ self_confidence_factor: 0.3 }, { agreement_factor: 0.7, self_confidence_factor: 0.3 }],
      [undefined, { agreement_factor: 0.7, self_confidence_factor: 0.3 }],
    ],
    refuses: [
      [
        { agreement_factor: 0.6, self_confidence_factor: 0.6 },
        /a sum of 1\.0/,
        'consensus.confidence_weighting.self_confidence_factor',
      ],
      [{ agreement_factor: 2 }, /at most 1/, 'consensus.confidence_weighting.agreement_factor'],
    ],
  },
  {
    on: 'Subworkflow',
    field: 'workflow_id',
    accepts: same('child', '0f8fad5b-d9cb-469f-a165-70867728950e'),
    refuses: [
      [undefined, REQUIRED],
      ['', /at least 1/],
    ],
  },
  {
    on: 'Subworkflow',
    field: 'mode',
    accepts: [...same('blocking', 'fire_and_forget'), [undefined, 'blocking']],
    refuses: [['async', /expected one of blocking, fire_and_forget, got "async"/]],
  },
  {
    on: 'Subworkflow',
    field: 'result_key',
    accepts: same('child result', undefined),
    refuses: [
      ['', /at least 1/],
      ['__proto__', /not allowed here/],
      ['constructor', /not allowed here/],
    ],
  },
  {
    on: 'Subworkflow',
    field: 'input',
    accepts: same('{"a": {{json input}}}', undefined),
    refuses: [[{ a: 1 }, /expected text, got a map/]],
  },
];
