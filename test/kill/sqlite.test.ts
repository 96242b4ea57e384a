import { killSample } from './sample.ts';

killSample('sqlite');
