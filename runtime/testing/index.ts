/** For tests of an author's own actors (`svc-runtime/testing`). */
export { ActorDriver, type DrivenEvent, type DrivenTurn, type OpenEffect } from './actor-driver.ts';
export { recordHistory, replayHistory } from './history.ts';
