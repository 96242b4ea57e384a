import type { Server } from '@grpc/grpc-js';
import {
  AttestAgentRequest,
  IngestStimulusRequest,
  InvokeToolRequest,
  QueryMemoryRequest,
  StoreMemoryPatternRequest,
  SvcRuntimeService,
  ValidateRequest,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { attestAgent } from './attest-agent.ts';
import { executeAgent } from './execute-agent.ts';
import { executeSystemCommand } from './execute-system-command.ts';
import { ingestStimulus } from './ingest-stimulus.ts';
import { invokeTool } from './invoke-tool.ts';
import type { GrpcParts } from './parts.ts';
import { queryMemoryPatterns } from './query-memory-patterns.ts';
import { sealCaller } from './seal-caller.ts';
import { inBytes } from './service.ts';
import { storeMemoryPattern } from './store-memory-pattern.ts';
import { unserved } from './unserved.ts';
import { validateWithJudges } from './validate-with-judges.ts';

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
