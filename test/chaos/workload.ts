import type { ActorDefinition } from '../../runtime/define-actor.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import { flaky, program } from './program.ts';
import { register } from './register.ts';
import { step, steps } from './steps.ts';
import { ticker } from './ticker.ts';

/** All actors that the nodes of a chaos run serve. */
export const actors: readonly ActorDefinition[] = [ticker, register, program, steps];
export const effects: readonly EffectHandler[] = [flaky, step];
