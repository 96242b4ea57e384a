import { type Rule, statePath } from './rule.ts';

export const tooFewJudges: Rule = {
  id: 'too_few_judges',
  cure: 'Add judges, or ask for fewer.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      if (state.kind !== 'ParallelAgents') continue;
      const { length } = state.agents;
      const { min_judges_required: least, strategy, n } = state.consensus;
      if (least > length)
        yield {
          path: statePath(name, 'consensus', 'min_judges_required'),
          message: `${least} judges are required and the panel has ${length}, so the state always fails`,
        };
      if (strategy === 'best_of_n' && n !== undefined && n > length)
        yield { path: statePath(name, 'consensus', 'n'), message: `the best ${n} of ${length} judges are all of them` };
      if (state.agents.every(({ weight }) => weight === 0))
        yield {
          path: statePath(name, 'agents'),
          message: 'every judge has weight 0, so no score comes out',
          cure: 'Give at least one judge a weight greater than 0.',
        };
    }
  },
};
