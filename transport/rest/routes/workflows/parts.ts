import type { Identity } from '../../../../runtime/identity.ts';
import type { RestParts } from '../../parts.ts';
import type { Access } from '../../request-context.ts';
import type { WorkflowParts } from '../../workflow-parts.ts';

/** The parts of a node that has workflows. */
export interface WorkflowRouteParts extends Omit<RestParts, 'workflows'>, WorkflowParts {}

export const workflowRoute = (access: Access) => ({ access, problems: 'coded' }) as const;

export const workflowExecutionRoute = (access: Access) =>
  ({ access, problems: 'coded', texts: { notFound: 'workflow execution not found' } }) as const;

export const readerOf = ({ tenant, subject }: Identity) => ({ tenant, subject });
