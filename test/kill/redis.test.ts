import { killSample } from './sample.ts';

killSample('redis');
