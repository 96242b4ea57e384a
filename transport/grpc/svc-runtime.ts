import type { Server } from '@grpc/grpc-js';
import {
  AttestAgentRequest,
  IngestStimulusRequest,
  InvokeToolRequest,
  QueryMemoryRequest,
  StoreMemoryPatternRequest,
  SvcRuntimeClient,
  SvcRuntimeService,
  ValidateRequest,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { OpenStreams } from '../open-streams.ts';
import { admit } from './access.ts';
import { sealCaller } from './call-context.ts';
import { createEndpoint, type GrpcServer } from './endpoint.ts';
import { executeAgent } from './execute-agent.ts';
import { executeSystemCommand } from './execute-system-command.ts';
import { ingestStimulus } from './ingest-stimulus.ts';
import { GRPC_LIMITS, type GrpcLimits } from './limits.ts';
import type { GrpcParts, GrpcServerParts } from './parts.ts';
import { attestAgent, invokeTool } from './seal-methods.ts';
import { inBytes, unserved } from './service.ts';
import { queryMemoryPatterns, storeMemoryPattern } from './store-memory-pattern.ts';
import { validateWithJudges } from './validate-with-judges.ts';

/** `svc.runtime.v1.SvcRuntime` (spec 1). */
function addSvcRuntime(server: Server, parts: GrpcParts): void {
  const service = SvcRuntimeService;
  const methods = {
    executeAgent: inBytes(service.executeAgent),
    executeSystemCommand: inBytes(service.executeSystemCommand),
    validateWithJudges: inBytes(service.validateWithJudges),
    queryMemoryPatterns: inBytes(service.queryMemoryPatterns),
    storeMemoryPattern: inBytes(service.storeMemoryPattern),
    attestAgent: inBytes(service.attestAgent),
    invokeTool: inBytes(service.invokeTool),
    ingestStimulus: inBytes(service.ingestStimulus),
  };
  server.addService(methods, {
    executeAgent: executeAgent(parts),
    executeSystemCommand: executeSystemCommand(parts),
    validateWithJudges:
      parts.judges === undefined ? unserved(parts, ValidateRequest) : validateWithJudges(parts, parts.judges),
    queryMemoryPatterns:
      parts.patterns === undefined ? unserved(parts, QueryMemoryRequest) : queryMemoryPatterns(parts, parts.patterns),
    storeMemoryPattern:
      parts.patterns === undefined
        ? unserved(parts, StoreMemoryPatternRequest)
        : storeMemoryPattern(parts, parts.patterns),
    attestAgent:
      parts.seal === undefined ? unserved(parts, AttestAgentRequest) : attestAgent(parts, parts.seal, sealCaller),
    invokeTool:
      parts.seal === undefined ? unserved(parts, InvokeToolRequest) : invokeTool(parts, parts.seal, sealCaller),
    ingestStimulus:
      parts.stimuli === undefined ? unserved(parts, IngestStimulusRequest) : ingestStimulus(parts, parts.stimuli),
  });
}

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
