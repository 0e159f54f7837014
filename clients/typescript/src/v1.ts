// The contract: the messages of reads, of operators' calls and of watches.
export * from './generated/index.tenure.v1.js';
