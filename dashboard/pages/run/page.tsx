import { useParams } from '@tanstack/react-router';
import { ExecutionPage } from './execution.tsx';
import { WorkflowRunPage } from './workflow.tsx';

/** A run: of an agent, or of a workflow. */
export function RunPage() {
  const { kind = '', id = '' } = useParams({ strict: false });
  return kind === 'workflow' ? <WorkflowRunPage key={id} id={id} /> : <ExecutionPage key={id} id={id} />;
}
