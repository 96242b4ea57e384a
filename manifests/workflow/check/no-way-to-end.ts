import { quoted, type Rule, statePath } from './rule.ts';

/** Beside `loop_without_exit`, which names the loop itself: states outside it that can only lead into it. */
export const noWayToEnd: Rule = {
  id: 'no_way_to_end',
  cure: 'Add a transition on some way from here to a state with `transitions: []`.',
  *check({ flow }) {
    if (flow.ending.size === 0) return;
    for (const loop of flow.loops) {
      const members = new Set(loop);
      const leaves = loop.some((name) => flow.successors(name).some((target) => !members.has(target)));
      if (!leaves) continue;
      for (const name of loop)
        if (!flow.ending.has(name))
          yield {
            path: statePath(name),
            message: `no way leads from state ${quoted(name)} to the end of the execution`,
          };
    }
  },
};
