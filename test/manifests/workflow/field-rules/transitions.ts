import { type FieldRule, NUMBER, REQUIRED, same } from './rule.ts';

const transition = (fields: object) => ({ target: 'end', ...fields });

const t = 'transitions.0';
const needs = (condition: string, field: string, value: unknown): FieldRule => ({
  on: 'Agent',
  field: t,
  accepts: [],
  refuses: [
    [
      transition({ condition, ...(condition === 'score_between' ? { min: 0, max: 1 } : {}), [field]: undefined }),
      new RegExp(`^required for condition ${condition}`),
      `transitions[0].${field}`,
    ],
    [transition({ condition, [field]: value, wrong: 1 }), /unknown key "wrong"/, 'transitions[0].wrong'],
  ],
});

export const TRANSITION_RULES: readonly FieldRule[] = [
  {
    on: 'Agent',
    field: `${t}.condition`,
    accepts: [
      ...same(
        'always',
        'on_success',
        'on_failure',
        'exit_code_zero',
        'exit_code_non_zero',
        'consensus',
        'all_approved',
        'any_rejected',
        'input_equals_yes',
        'input_equals_no',
      ),
      [undefined, 'always'],
    ],
    refuses: [
      ['approved', /expected one of always, on_success, .*got "approved"/],
      ['constructor', /expected one of/],
    ],
  },
  {
    on: 'Agent',
    field: `${t}.target`,
    accepts: same('s', 'end'),
    refuses: [
      [undefined, REQUIRED],
      ['nope', /expected the name of a state, got "nope"/],
      [1, /expected text/],
    ],
  },
  { on: 'Agent', field: `${t}.feedback`, accepts: same('{{s.output}}', undefined), refuses: [[1, /expected text/]] },
  {
    on: 'Agent',
    field: `${t}.threshold`,
    accepts: same(0, 0.8, 1, undefined),
    refuses: [
      [1.1, /at most 1/],
      ['0.8', NUMBER],
    ],
  },
  { on: 'Agent', field: `${t}.agreement`, accepts: same(0, 1, undefined), refuses: [[-0.5, /at least 0/]] },
  {
    on: 'Agent',
    field: `${t}.value`,
    accepts: [
      ['3', '3'],
      [3, '3'],
      ['yes', 'yes'],
      [true, 'true'],
      [undefined, undefined],
    ],
    refuses: [[['a'], /put it in quotes/]],
  },
  {
    on: 'Agent',
    field: `${t}.expression`,
    accepts: same('{{s.score}} > 0.5', undefined),
    refuses: [[true, /expected text/]],
  },
  { on: 'Agent', field: `${t}.min`, accepts: same(0, 0.5), refuses: [['0', NUMBER]] },
  { on: 'Agent', field: `${t}.max`, accepts: same(1, 0.5), refuses: [['1', NUMBER]] },
  {
    on: 'Agent',
    field: t,
    accepts: same(
      transition({ condition: 'score_between', min: 0.5, max: 0.5 }),
      transition({ condition: 'custom', expression: 's.score > 0.5' }),
      transition({ condition: 'score_above', threshold: 0.5 }),
    ),
    refuses: [
      [
        transition({ condition: 'score_between', min: 0.6, max: 0.5 }),
        /expected at least min, 0\.6/,
        'transitions[0].max',
      ],
    ],
  },
  needs('score_above', 'threshold', 0.5),
  needs('score_below', 'threshold', 0.5),
  needs('confidence_above', 'threshold', 0.5),
  needs('score_between', 'min', 0),
  needs('score_between', 'max', 1),
  needs('exit_code', 'value', 3),
  needs('input_equals', 'value', 'x'),
  needs('custom', 'expression', 'true'),
];
