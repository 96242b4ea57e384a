import { useParams } from '@tanstack/react-router';
import { ExecutionPage } from './run-execution.tsx';
import { WorkflowRunPage } from './run-workflow.tsx';

/** A run: of an agent, or of a workflow. */
export function RunPage() {
  const { kind = '', id = '' } = useParams({ strict: false });
  return kind === 'workflow' ? <WorkflowRunPage key={id} id={id} /> : <ExecutionPage key={id} id={id} />;
}
