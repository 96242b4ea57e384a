import assert from 'node:assert/strict';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { AGENT_ID } from './driven-execution.ts';
import { ToolingExecution, tooled } from './tooled.ts';

export const PROGRAM = { advanced: { bootstrap_path: './agent.sh' }, runtime: { isolation: 'process' } };
export const DOCKER = { runtime: { isolation: 'docker', image: 'ghcr.io/acme/agent:1' } };

/** An execution whose loop is started by a program, or by the bootstrap in its container. */
export class Bootstrapped extends ToolingExecution {
  static of(spec: JsonObject): Bootstrapped {
    const driven = new Bootstrapped();
    driven.start(tooled({ execution: { max_iterations: 2 }, ...spec }));
    return driven;
  }

  generate(more: JsonObject = {}): DrivenTurn {
    const base = { agent_id: AGENT_ID, iteration_number: 1, model_alias: '', prompt: 'do it', messages: [] };
    return this.send('Generate', { ...base, ...more });
  }

  dispatchEnded(dispatch_id: string, more: JsonObject = {}): DrivenTurn {
    const end = { exit_code: 0, stdout: 'out', stderr: '', duration_ms: 5, truncated: false };
    return this.send('DispatchEnded', { dispatch_id, ...end, ...more });
  }

  get dispatched(): string {
    const open = this.calls.find(({ status }) => status === 'dispatched');
    assert.ok(open?.dispatch_id !== undefined, 'no dispatch is open');
    return open.dispatch_id;
  }

  get phase(): string | undefined {
    return this.view.status === 'running' ? this.view.current.loop?.phase : undefined;
  }

  /** The result of the program, or of the container. */
  programEnds(outcome: Json): DrivenTurn {
    const effectId = this.view.status === 'running' ? this.view.current.effect_id : 'none';
    return this.send('ProgramEnded', { effectId, kind: 'program.run', attempt: 1, outcome }, 'effect');
  }

  prints(stdout: string, code = 0): DrivenTurn {
    return this.programEnds({ kind: 'done', value: { exit_code: code, stdout, stderr: '' } });
  }

  progress(value: Json): DrivenTurn {
    const effectId = this.view.status === 'running' ? this.view.current.effect_id : 'none';
    return this.send('ProgramChunk', { effectId, attempt: 1, value }, 'effect');
  }
}
