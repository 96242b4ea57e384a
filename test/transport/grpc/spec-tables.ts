/**
 * The messages of both services, typed by hand from the specification and not taken from the product's .proto.
 * One line a message: `name type number; …`, with `optional`, `repeated` and `map<…>`. Messages that clients
 * seldom need are not here.
 */
export const SPEC_MESSAGES: Readonly<Record<string, string>> = {
  ExecuteAgentRequest: `agent_id string 1; input string 2; context_json string 3;
    security_policy optional SecurityPolicy 4; workflow_execution_id optional string 5`,
  ExecutionStarted: 'execution_id string 1; agent_id string 2; started_at string 3',
  IterationStarted: 'execution_id string 1; iteration_number uint32 2; action string 3; started_at string 4',
  IterationFailed: 'execution_id string 1; iteration_number uint32 2; error IterationError 3; failed_at string 4',
  IterationError: 'error_type string 1; message string 2; stacktrace optional string 3',
  RefinementApplied: 'execution_id string 1; iteration_number uint32 2; code_diff string 3; applied_at string 4',
  ExecutionCompleted: 'execution_id string 1; final_output string 2; total_iterations uint32 3; completed_at string 4',
  ExecutionFailed: 'execution_id string 1; reason string 2; total_iterations uint32 3; failed_at string 4',
  ExecuteSystemCommandRequest: `command string 1; env map<string,string> 2; workdir optional string 3;
    timeout_seconds optional uint32 4`,
  ExecuteSystemCommandResponse: 'exit_code int32 1; stdout string 2; stderr string 3; duration_ms uint64 4',
  ValidateRequest: `output string 1; task string 2; judges repeated JudgeConfig 3; consensus ConsensusConfig 4;
    context_json string 5`,
  JudgeConfig: 'agent_id string 1; input_template string 2; weight float 3',
  ConsensusConfig: `strategy Strategy 1; threshold optional float 2; agreement optional float 3;
    n optional uint32 4`,
  ValidateResponse: `score float 1; confidence float 2; reasoning string 3; binary_valid bool 4;
    individual_results repeated JudgeResult 5`,
  QueryMemoryRequest: `error_signature string 1; error_type optional string 2; limit optional uint32 3;
    min_success_score optional float 4`,
  QueryMemoryResponse: 'patterns repeated MemoryPattern 1',
  StoreMemoryPatternRequest: `error_signature string 1; error_type string 2; error_message string 3;
    solution_approach string 4; solution_code optional string 5; tags repeated string 7`,
  StoreMemoryPatternResponse: 'pattern_id string 1; deduplicated bool 2; new_frequency uint32 3',
  AttestAgentRequest: 'agent_id string 1; execution_id string 2; container_id string 3; public_key_pem string 4',
  AttestAgentResponse: 'security_token string 1',
  InvokeToolRequest: `protocol string 1; security_token string 2; signature string 3; payload bytes 4;
    timestamp string 5`,
  InvokeToolResponse: 'result_json bytes 1',
  IngestStimulusRequest: `source_name string 1; content string 2; idempotency_key optional string 3;
    headers map<string,string> 4`,
  IngestStimulusResponse: 'stimulus_id string 1; workflow_execution_id string 2',
};

/** Members of the oneof `event` of ExecutionEvent. */
export const SPEC_EVENTS = `execution_started ExecutionStarted 1; iteration_started IterationStarted 2;
  iteration_output IterationOutput 3; iteration_completed IterationCompleted 4; iteration_failed IterationFailed 5;
  refinement_applied RefinementApplied 6; execution_completed ExecutionCompleted 7; execution_failed ExecutionFailed 8`;

export const SPEC_STRATEGIES = { WEIGHTED_AVERAGE: 0, MAJORITY_VOTE: 1, UNANIMOUS: 2, ANY_APPROVED: 3 };

/** Request and response of each method; `stream` marks a server stream. */
export const SPEC_METHODS: Readonly<Record<string, readonly [request: string, response: string, stream?: 'stream']>> = {
  ExecuteAgent: ['ExecuteAgentRequest', 'ExecutionEvent', 'stream'],
  ExecuteSystemCommand: ['ExecuteSystemCommandRequest', 'ExecuteSystemCommandResponse'],
  ValidateWithJudges: ['ValidateRequest', 'ValidateResponse'],
  QueryMemoryPatterns: ['QueryMemoryRequest', 'QueryMemoryResponse'],
  StoreMemoryPattern: ['StoreMemoryPatternRequest', 'StoreMemoryPatternResponse'],
  AttestAgent: ['AttestAgentRequest', 'AttestAgentResponse'],
  InvokeTool: ['InvokeToolRequest', 'InvokeToolResponse'],
  IngestStimulus: ['IngestStimulusRequest', 'IngestStimulusResponse'],
};

export interface SpecField {
  readonly name: string;
  readonly rule: 'optional' | 'repeated' | '';
  readonly type: string;
  readonly number: number;
}

/** A line of a table, field by field. */
export function fieldsOf(line: string): SpecField[] {
  return line.split(';').map((field) => {
    const match = /^\s*(\w+) (?:(optional|repeated) )?(\S+) (\d+)\s*$/.exec(field);
    const [, name, rule, type, number] = match ?? [];
    if (name === undefined || type === undefined) throw new Error(`not a field: ${field}`);
    return { name, rule: rule === 'optional' || rule === 'repeated' ? rule : '', type, number: Number(number) };
  });
}
