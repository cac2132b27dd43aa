"""Fine-tuning of a local model by LoRA (Hu et al. 2021), on a laptop's processor: ``trialogue train``.

    config      what is trained on what, read from YAML
    examples    training data: JSON Lines as ``trialogue export RUN --to sft`` writes them
    tokens      an example as token numbers, with those marked that are learnt
    selection   which examples are trained on and which are held out; what makes a step
    base        the model and its tokenizer, from a GGUF file
    attention   causal attention that is quick on processors
    memory      kept by the process
    lora        the adapter: its layers, its weights in full precision
    loop        the training itself; checkpoint: going on with it
    adapter     the adapter as a GGUF file, for llama.cpp
    comparison  whether llama.cpp reads and writes the same as what was trained
    card        what is told of the result
    train       all of it, in order

Needs the extra ``train`` (torch, transformers, peft, gguf); nothing here imports them before they are used.
"""
