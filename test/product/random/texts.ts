import type { Dice } from './dice.ts';
import type { JsonMap } from './manifest.ts';

/** A state that may have run before, as templates refer to it. */
export interface Earlier {
  readonly name: string;
  readonly kind: string;
  /** A state of kind ParallelContainerRun. */
  readonly steps: readonly string[];
}

/** The input of every random run; some keys are optional. */
export function beginnings(dice: Dice): {
  readonly context: JsonMap;
  readonly input: JsonMap;
  readonly pairs: JsonMap;
} {
  const words = ['alpha', 'Beta & <Co>', "it's", 'two words', 'ÄÖ 日本'];
  const list = dice.some(['x', 'y', 3, true]);
  return {
    context: { place: dice.pick(['north', 'south']), count: dice.whole(0, 3), rows: ['r0', { id: 7 }], empty: '' },
    input: {
      word: dice.pick(words),
      n: dice.whole(0, 5),
      flag: dice.chance(0.5),
      list,
      deep: { k: dice.pick(words), list: [1, 2] },
      ...(dice.chance(0.5) ? { maybe: dice.pick(['', 'perhaps']) } : {}),
    },
    pairs: {
      note: dice.pick([' padded \nnext', 'plain']),
      ...(dice.chance(0.3) ? { place: 'over there' } : {}),
      ...(dice.chance(0.3) ? { count: 9 } : {}),
    },
  };
}

const VALUES = [
  'input.word',
  'input.n',
  'input.flag',
  'input.deep.k',
  'input.deep.list.1',
  'input.maybe',
  'intent',
  'workflow.context.place',
  'workflow.context.rows.0',
  'workflow.context.rows.1.id',
  'blackboard.place',
  'blackboard.count',
  'blackboard.note',
  'blackboard.nothing',
  'blackboard.kept.place',
  'nowhere.at.all',
  'state.feedback',
  'human.feedback',
];

const PIECES = [
  'plain ',
  '<&"> ',
  '{{#each input.list}}[{{@index}} {{this}}]{{else}}none{{/each}}',
  '{{#each workflow.context.rows}}({{this}}){{/each}}',
  '{{#each blackboard.nothing}}{{this}}{{/each}}',
  '{{#with input.deep}}{{this.k}}{{/with}}',
  '{{json input.deep}}',
  '{{input.list}}',
  '{{upper input.word}}',
  '{{lower intent}}',
  '{{trim blackboard.note}}',
  '{{first_line blackboard.note}}',
  '{{length input.list}}/{{length input.word}}/{{length input.deep}}',
  '{{default input.maybe "plain"}}',
  '{{default blackboard.nothing (upper input.word)}}',
  '{{upper blackboard.nothing}}',
  '{{add input.n 1}}',
  '{{eq input.n "2"}}',
  '{{lookup input.deep "k"}}{{lookup input.list 0}}',
  '{{#if input.flag}}yes{{else}}no{{/if}}',
  '{{#if input.n}}some{{else}}zero{{/if}}',
  '{{#unless input.list}}empty{{/unless}}',
  '{{#if (eq blackboard.place "north")}}N{{#if input.flag}}F{{/if}}{{else}}S{{/if}}',
  '{{#if nowhere.at.all}}there{{else}}nowhere{{/if}}',
  '{{#if state.feedback}}after: {{state.feedback}}{{/if}}',
];

/** A random text with templates: `{{…}}` over the input of the run and the outputs of earlier states. */
export function randomText(dice: Dice, earlier: readonly Earlier[]): string {
  const pieces = Array.from({ length: dice.whole(1, 3) }, () => {
    if (earlier.length > 0 && dice.chance(0.4)) return `${leftBy(dice, dice.pick(earlier))} `;
    return dice.chance(0.5) ? `{{${dice.pick(VALUES)}}} ` : dice.pick(PIECES);
  });
  return pieces.join('');
}

function leftBy(dice: Dice, { name, kind, steps }: Earlier): string {
  const guarded = (inside: string): string => `{{#if (eq ${name}.status "success")}}${inside}{{/if}}`;
  const said: Readonly<Record<string, readonly string[]>> = {
    System: [`{{${name}.output.stdout}}`, `{{${name}.output.exit_code}}`, `{{trim ${name}.output.stderr}}`],
    ContainerRun: [`{{${name}.output.stdout}}`, `{{${name}.output.exit_code}}`],
    Agent: [guarded(`{{${name}.output}}`), guarded(`{{${name}.score}}`), `{{${name}.output.title}}`],
    Human: [guarded(`{{${name}.output}}: {{${name}.feedback}}`)],
    ParallelAgents: [`{{${name}.agents.0.output.reasoning}}`, guarded(`{{${name}.consensus.strategy}}`)],
    ParallelContainerRun: steps.map((step) => `{{${name}.output.${step}.stdout}}{{${name}.output.${step}.exit_code}}`),
    Subworkflow: [`{{${name}.result.place}}`, `{{blackboard.kept.place}}`],
  };
  return dice.pick([`{{${name}.status}}`, ...(said[kind] ?? [])]);
}

const OPERATORS = ['<', '>', '<=', '>=', '==', '!='];

/** A random expression of a `custom` transition. */
export function randomExpression(dice: Dice, earlier: readonly Earlier[]): string {
  const operator = (): string => dice.pick(OPERATORS);
  const operand = (): string => {
    const { name } = earlier.length > 0 ? dice.pick(earlier) : { name: 'nowhere' };
    return dice.pick([
      `{{blackboard.count}} ${operator()} ${dice.whole(0, 3)}`,
      `input.n ${operator()} ${dice.whole(0, 5)}`,
      `workflow.context.count ${operator()} blackboard.count`,
      `(length input.list) ${operator()} ${dice.whole(0, 4)}`,
      `{{length input.word}} ${operator()} 5`,
      `input.word == 'alpha'`,
      `"{{workflow.context.place}}-{{input.n}}" != "north-2"`,
      `blackboard.nothing == null`,
      `!input.flag`,
      'input.flag',
      `${name}.status == 'success'`,
      `{{${name}.status}} != "failed"`,
      `(eq input.n 2)`,
    ]);
  };
  const first = operand();
  if (dice.chance(0.5)) return first;
  const second = dice.chance(0.3) ? `(${operand()} || ${operand()})` : operand();
  return `${first} ${dice.pick(['&&', '||'])} ${second}`;
}
