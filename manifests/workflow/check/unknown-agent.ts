import { agentsNamedIn } from '../deployed-names.ts';
import { quoted, type Rule } from './rule.ts';

export const unknownAgent: Rule = {
  id: 'unknown_agent',
  cure: 'Deploy the agent before the workflow runs, or correct the name.',
  *check({ manifest, known }) {
    const { agents } = known;
    if (agents === undefined) return;
    for (const { name, path } of agentsNamedIn(manifest))
      if (!agents(name)) yield { path, message: `no agent ${quoted(name)} is deployed` };
  },
};
