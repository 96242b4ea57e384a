import type { ToolGrant } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';
import { needsExecution } from '../../tools/offer.ts';
import type { CallerToolParts } from './parts.ts';

/** What a caller may use: the desk's grant without what needs an execution, whatever the desk put into it. */
export async function callerGrant({ desk }: Pick<CallerToolParts, 'desk'>, identity: Identity): Promise<ToolGrant> {
  const grant = await desk.callerGrant(identity);
  return { ...grant, tools: grant.tools.filter((offer) => !needsExecution(offer)) };
}
