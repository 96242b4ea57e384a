export { type AgentGateway, answerGateway } from './exchange.ts';
export { type BootstrapFile, bootstrapFiles } from './files.ts';
export {
  type DispatchAnswer,
  DispatchResultMessage,
  type FinalAnswer,
  type GatewayAnswer,
  type GatewayHandler,
  type GatewayProblem,
  GatewayRequest,
  GenerateMessage,
  gatewayProblem,
  gatewayRequestOf,
  retrySecs,
} from './messages.ts';
export { SHELL_ANSWER, shellAnswer, shellProblem } from './shell-answer.ts';
export { readShellRequest, SHELL_REQUEST } from './shell-request.ts';
