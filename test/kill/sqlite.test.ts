import { killSample } from './sample.ts';

await killSample('sqlite');
