import type { z } from 'zod';
import type { ToolContract } from '../../manifests/tool/contract.ts';

/** A contract with the types of its own input; whoever holds many of them forgets these types, not the checks. */
export const defineContract = <Input extends z.ZodType>(contract: ToolContract<Input>): ToolContract<Input> => contract;
