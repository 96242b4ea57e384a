import { quoted, type Rule } from './rule.ts';

/** Words that stand where a workflow's name stands in paths of the REST API; a test compares them with its description. */
export const PATH_WORDS: ReadonlySet<string> = new Set(['executions', 'generate', 'search', 'validate']);

export const reservedWorkflowName: Rule = {
  id: 'reserved_workflow_name',
  cure: 'Take another name for the workflow, or name it by its UUID over REST.',
  *check({ manifest: { metadata } }) {
    if (PATH_WORDS.has(metadata.name))
      yield {
        path: ['metadata', 'name'],
        message: `/v1/workflows/${metadata.name} is another path of the REST API, so ${quoted(metadata.name)} does not name this workflow there`,
      };
  },
};
