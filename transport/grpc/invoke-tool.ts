import { InvokeToolRequest, InvokeToolResponse } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { invokeTool as invoke } from '../seal/invoke-tool.ts';
import type { SealParts } from '../seal/parts.ts';
import { traceOfCall } from './call-context.ts';
import type { GrpcLogger } from './parts.ts';
import { type SealCallers, whileCalled } from './seal-caller.ts';
import { decoded, type UnaryInBytes } from './service.ts';
import { unary } from './unary.ts';

/**
 * InvokeTool (spec 1): one tool call in a signed envelope. `result_json` is the JSON-RPC response of a call that was made;
 * one that was refused is a status, with the precise reason as trailer `svc-error-reason` and as ErrorInfo.
 */
export const invokeTool = (
  parts: { readonly logger: GrpcLogger },
  seal: SealParts,
  callers: SealCallers,
): UnaryInBytes =>
  unary(parts, async (call) => {
    const envelope = decoded(InvokeToolRequest, call.request);
    const caller = await callers(call.metadata);
    const trace = traceOfCall(call.metadata);
    const invoked = await whileCalled(call, (signal) => invoke(seal, envelope, { caller, trace, signal }));
    if (!invoked.ok) throw invoked.error;
    return InvokeToolResponse.encode({ result_json: Buffer.from(JSON.stringify(invoked.response)) }).finish();
  });
