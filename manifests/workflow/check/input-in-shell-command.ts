import type { Rule } from './rule.ts';
import type { Subject } from './subject.ts';

export const inputInShellCommand: Rule = {
  id: 'input_in_shell_command',
  cure: 'Pass it by `env` and write "$NAME" in the command: the shell then reads it as one word, never as code.',
  *check(subject) {
    for (const { path, use, references } of subject.texts) {
      if (use !== 'shell') continue;
      const foreign = references.find((reference) => isForeign(reference.path, subject));
      if (foreign !== undefined)
        yield {
          path,
          message: `{{${foreign.path.join('.').slice(0, 80)}}} is text from outside, and a shell reads it as code`,
        };
    }
  },
};

/** Written by callers, people or models rather than by the author of the workflow. */
function isForeign([root = '', key = '']: readonly string[], { flow }: Subject): boolean {
  if (root === 'input' || root === 'intent' || root === 'human') return true;
  if (root === 'state') return key === 'feedback';
  if (root === 'blackboard') return key === 'stimulus';
  const kind = flow.states.get(root)?.kind;
  if (kind === 'Human' || kind === 'Agent') return key === 'output' || key === 'feedback';
  return kind === 'ParallelAgents' && (key === 'agents' || key === 'individual_results');
}
