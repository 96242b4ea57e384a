import { SvcRuntimeClient } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { OpenStreams } from '../open-streams.ts';
import { admit } from './access.ts';
import { createEndpoint, type GrpcServer } from './endpoint.ts';
import { GRPC_LIMITS, type GrpcLimits } from './limits.ts';
import type { GrpcParts, GrpcServerParts } from './parts.ts';
import { addSvcRuntime } from './svc-runtime.ts';

/** What brings new work. Of InvokeTool the called tool says it (transport/seal). */
const NEW_WORK: ReadonlySet<string> = new Set(
  ['ExecuteAgent', 'ExecuteSystemCommand', 'ValidateWithJudges', 'IngestStimulus'].map(
    (method) => `/${SvcRuntimeClient.serviceName}/${method}`,
  ),
);

/** The gRPC API of clients (spec 1, SvcRuntime) as a server that does not listen yet. */
export function createGrpcServer(given: GrpcServerParts): GrpcServer {
  const limits: GrpcLimits = { ...GRPC_LIMITS, ...given.limits };
  const parts: GrpcParts = { ...given, limits, streams: new OpenStreams(limits.streams) };
  return createEndpoint(
    {
      ...parts,
      services: [SvcRuntimeClient.serviceName],
      admit: (path, metadata, authority) => admit(path, { metadata, authority }, parts),
      enter: (path) => (NEW_WORK.has(path) ? parts.admission?.enter() : undefined),
    },
    (server) => addSvcRuntime(server, parts),
  );
}
