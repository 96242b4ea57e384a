import type { Tool } from '../../tool.ts';
import { type ManagedCall, managed } from '../managed.ts';
import type { LateManagement, Starter } from '../ports.ts';
import { waitForWorkflow } from '../workflow/run-tools.ts';
import { execute, executeIntent, executeStatus, executeWait } from './contracts.ts';

const starterOf = ({ identity, call: { id, trace, signal } }: ManagedCall): Starter => ({
  ...{ identity, trace, signal },
  executionId: id,
});

/** svc.execute.* over `IntentApi` (spec 3). */
export function executeTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(executeIntent, (request, managedCall) => managedCall.ports.intents.start(request, starterOf(managedCall))),
    define(execute, ({ prompt: intent }, managedCall) =>
      managedCall.ports.intents.start({ intent, language: 'python' }, starterOf(managedCall)),
    ),
    define(executeStatus, ({ pipeline_execution_id: id }, { ports, identity }) => ports.intents.status(identity, id)),
    define(executeWait, waitForWorkflow),
  ];
}
