import type { Server } from '@grpc/grpc-js';
import {
  AttestAgentRequest,
  ExecuteSystemCommandRequest,
  IngestStimulusRequest,
  InvokeToolRequest,
  QueryMemoryRequest,
  StoreMemoryPatternRequest,
  SvcRuntimeService,
  ValidateRequest,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { executeAgent } from './execute-agent.ts';
import type { GrpcParts } from './parts.ts';
import { inBytes } from './service.ts';
import { unserved } from './unserved.ts';

/** `svc.runtime.v1.SvcRuntime` (spec 1). */
export function addSvcRuntime(server: Server, parts: GrpcParts): void {
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
    executeSystemCommand: unserved(parts, ExecuteSystemCommandRequest),
    validateWithJudges: unserved(parts, ValidateRequest),
    queryMemoryPatterns: unserved(parts, QueryMemoryRequest),
    storeMemoryPattern: unserved(parts, StoreMemoryPatternRequest),
    attestAgent: unserved(parts, AttestAgentRequest),
    invokeTool: unserved(parts, InvokeToolRequest),
    ingestStimulus: unserved(parts, IngestStimulusRequest),
  });
}
