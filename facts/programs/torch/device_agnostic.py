import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(2).to(device)
print(x.device, device)
acc = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
print(acc)
print(x.cpu() is x, x.to("cpu") is x, x.to(torch.float32) is x)
