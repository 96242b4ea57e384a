import { kernelContract } from './kernel.ts';
import { largeStatesContract } from './kernel-large-states.ts';
import { retentionContract } from './retention.ts';
import { sqliteKernel } from './sqlite-kernel.ts';

const setup = () => sqliteKernel();

kernelContract('SQLite', setup);
largeStatesContract('SQLite', setup);
retentionContract('SQLite', setup);
