// LangGraph's own suite for checkpoint savers; runs under Vitest.
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import { SessionStore } from 'palimpsest';
import { PalimpsestSaver } from 'palimpsest/langgraph';
import { memory } from 'palimpsest/memory';
import { attach } from 'palimpsest/persistence';

const initializer = {
  checkpointerName: 'PalimpsestSaver',
  createCheckpointer: (): PalimpsestSaver => {
    const store = new SessionStore();
    attach(store, memory());
    return new PalimpsestSaver(store);
  },
};
validate(initializer);
deltaChannelHistoryTests(initializer);
