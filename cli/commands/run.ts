import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { warn } from '../findings.ts';
import { isObject, textOf } from '../json.ts';
import { readText } from '../read-input.ts';
import { type RunOptions, startRun, statesOf, watchWorkflow } from '../watch-workflow.ts';

/** `svc run FILE`: deploys the workflow of a manifest, starts it and shows its states until it ends. */
export function run(program: Command): void {
  program
    .command('run')
    .description('deploy a workflow (replacing the same version), run it, and follow the run to its end')
    .argument('<file>', 'YAML manifest of a workflow')
    .option('--input <json>', 'input, a JSON object; @FILE reads a file, - standard input')
    .option('--intent <text>', 'the goal; @FILE or - as above')
    .option('--blackboard <json>', 'initial entries of the blackboard, a JSON object; @FILE or - as above')
    .option('--node <url>', 'address of the node, same as --url')
    .action(async (file: string, options: RunOptions & { node?: string }, command: Command) => {
      const context = contextOf(command, { ...process.env, ...(options.node && { SVC_URL: options.node }) });
      const text = await readText(file, 'FILE');
      const deployed = await context.client.json('POST', '/v1/workflows', {
        body: { type: 'application/yaml', text },
        query: { force: 'true' },
        repeatable: true,
      });
      warn(deployed);
      const workflowId = textOf(deployed, 'workflow_id');
      const version = await versionIn(text);
      const id = await startRun(context.client, workflowId, { ...options, version });
      process.stderr.write(`workflow execution ${id}\n`);
      const states = await statesOf(context.client, workflowId, version);
      await watchWorkflow(context, id, { after: 0, show: 'result', states });
    });
}

/** Version of the manifest that was just deployed; a newer one may have been deployed before. */
async function versionIn(text: string): Promise<string> {
  const { parse } = await import('yaml');
  const manifest: unknown = parse(text);
  return textOf(isObject(manifest) ? manifest.metadata : undefined, 'version');
}
