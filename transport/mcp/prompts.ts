/** The instructions that `initialize` sends to a client: how the tools belong together. */
export const INSTRUCTIONS = `svc runs agents and workflows durably: a run goes on when this connection ends.
Start an agent with svc_task_execute and a workflow with svc_workflow_run: both answer at once with an execution_id. Wait with
svc_task_wait (agents) or svc_workflow_wait (workflows); a wait that times out did not end the run: wait again.
When a run waits or failed, svc_trace_why says why, down to the last cause. svc_approval_list lists the questions that runs ask a
person; svc_approval_approve and svc_approval_reject answer one, svc_workflow_signal answers with any text. Ask the person
first, never answer in their name.
Before you write a manifest read its schema with svc_schema_get, check it with svc_schema_validate or svc_workflow_validate, then
deploy it with svc_agent_create or svc_workflow_create. Look for existing ones with svc_agent_search and
svc_workflow_search. The resources svc://runs, svc://executions, svc://approvals, svc://agents and svc://workflows show the same for reading.`;

interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

interface Prompt {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  readonly text: (given: Readonly<Record<string, string>>) => string;
}

const PROMPTS: readonly Prompt[] = [
  {
    name: 'write_agent',
    description: 'Write, check, deploy and try an agent',
    arguments: [{ name: 'task', description: 'The task of the agent.', required: true }],
    text: ({ task }) =>
      `Write an agent for svc that does this: ${task}\n\nFirst look with svc_agent_search whether one does it already. Else read the ` +
      'schema (svc_schema_get, key agent/manifest/v1), write a manifest with a validator that refuses wrong answers, check it with ' +
      'svc_schema_validate, show it to me, and deploy it with svc_agent_create once I agree. Then run it once with svc_task_execute ' +
      'and svc_task_wait, and show me its answer.',
  },
  {
    name: 'run_workflow',
    description: 'Run a workflow and report how it ends',
    arguments: [
      { name: 'workflow', description: 'Name of the workflow.', required: true },
      { name: 'goal', description: 'The goal of the run.', required: false },
    ],
    text: ({ workflow, goal = '' }) =>
      `Run the workflow ${workflow} of svc${goal === '' ? '' : ` with this intent: ${goal}`}. Read its manifest first ` +
      `(svc://workflows/${workflow}) and ask me for inputs that it needs. Start it with svc_workflow_run, wait with ` +
      'svc_workflow_wait until it has ended, and ask me whenever it waits for a person. Report its output, or why it failed.',
  },
  {
    name: 'why',
    description: 'Find out why a run waits or failed',
    arguments: [{ name: 'execution_id', description: 'Id of the run of an agent or a workflow.', required: true }],
    text: ({ execution_id }) =>
      `Find out why the run ${execution_id} of svc waits or failed: call svc_trace_why, and read its log (svc_task_logs for an ` +
      'agent, svc_workflow_logs for a workflow) where that is not enough. Say the cause in one sentence, then what I can do.',
  },
];

/** `prompts/list`. */
export const listedPrompts = () =>
  PROMPTS.map(({ name, description, arguments: given }) => ({
    name,
    description,
    arguments: given.map((argument) => ({ ...argument })),
  }));

/** The text of a prompt. For an unknown one, or one that lacks an argument, a sentence that says what is wrong. */
export function promptText(
  name: string,
  given: Readonly<Record<string, string>>,
): { readonly text: string; readonly description: string } | { readonly problem: string } {
  const prompt = PROMPTS.find((one) => one.name === name);
  if (prompt === undefined) return { problem: `Unknown prompt: ${name.slice(0, 100)}` };
  const missing = prompt.arguments.find((argument) => argument.required && (given[argument.name] ?? '') === '');
  if (missing !== undefined) return { problem: `${missing.name}: required` };
  return { text: prompt.text(given), description: prompt.description };
}
